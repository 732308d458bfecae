/* inflate -- decompresses gzip, zstd and xz: gzip by ISA-L where that is
 * installed (rootfs-tools/layers/gunzip.h), the rest by libarchive.
 *
 * The format is recognized by the first bytes; data in no such format is passed
 * on unchanged.  Data that is compressed twice is refused, since the size after
 * the first step would have no bound. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define INFLATE_MARK 6 /* bytes that suffice to recognize the format */

/* Returns whether data that begins with these bytes is in one of the three formats. */
bool inflate_knows(const void *first, size_t len);

/* Loads the library that inflate_all() of `in` needs.  Call this function before the
 * jail, in which nothing can be loaded. */
int inflate_begin(int in, struct err *e);

/* Decompresses `in`, to its end, to `out`. */
int inflate_all(int in, int out, struct err *e);
