/* gunzip -- decompresses gzip by Intel's ISA-L, in less than half of zlib's time.
 * Decompression is the slowest step of unpacking a layer (docs/speed.md).
 *
 * Several gzip members in a row are decompressed to one output, as by gzip(1).  Bytes
 * after the last member are ignored. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Loads ISA-L.  False: the library is not installed, and the caller uses another one.
 * Call this function before the jail, in which nothing can be loaded. */
bool gunzip_begin(void);

/* Returns whether these bytes begin a gzip member, and gunzip_begin() was true. */
bool gunzip_takes(const uint8_t *first, size_t len);

/* Decompresses to `out`.  The input is the bytes `first`, which were already read from
 * `in`, and the rest of `in`. */
int gunzip_all(const uint8_t *first, size_t len, int in, int out, struct err *e);
