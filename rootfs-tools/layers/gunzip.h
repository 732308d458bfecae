/* gunzip -- decompresses gzip by Intel's ISA-L, in less than half of zlib's
 * time; nothing else limits the unpacking of a layer (docs/speed.md).
 *
 * Several members in a row are one text, as gzip(1) has it; bytes after the
 * members that are no member themselves are ignored. */
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

/* Decompresses to `out`: the bytes `first`, which were read from `in` already,
 * and the rest of `in`. */
int gunzip_all(const uint8_t *first, size_t len, int in, int out, struct err *e);
