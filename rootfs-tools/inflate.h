/* inflate -- what gzip, zstd or xz made smaller, as it was: gzip's by ISA-L where that is
 * installed (rootfs-tools/gunzip.h), the rest by libarchive.
 *
 * Which of them it was is found out by its first bytes; what none of them made is passed
 * on as it is.  Only one: what is compressed twice is refused, since the first would have
 * no bound. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define INFLATE_MARK 6 /* bytes that tell what made it */

/* Whether one of the three made what begins so. */
bool inflate_knows(const void *first, size_t len);

/* Loads what inflate_all() of `in` takes.  Before the jail that it is called in, where nothing
 * can be loaded. */
int inflate_begin(int in, struct err *e);

/* From `in`, to its end, to `out`. */
int inflate_all(int in, int out, struct err *e);
