/* gunzip -- what gzip made smaller, as it was, by Intel's ISA-L: in less than half of the time
 * that zlib takes, where unpacking a layer waits for nothing else (docs/speed.md).
 *
 * Several members in a row are one text, as gzip(1) has it; what is behind them and is no
 * member is passed over. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Loads the library; where it is not installed another one is to be used.  Before the
 * jail, where nothing can be loaded. */
bool gunzip_begin(void);

/* Whether this is the beginning of such a text, and gunzip_begin() was true. */
bool gunzip_takes(const uint8_t *first, size_t len);

/* From `first`, which has been read of `in`, and from there to its end, to `out`. */
int gunzip_all(const uint8_t *first, size_t len, int in, int out, struct err *e);
