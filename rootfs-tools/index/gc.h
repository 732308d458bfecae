/* gc -- removes from the store everything that is no longer referred to:
 * unnamed images that no sandbox uses, layers and blobs of no image, and
 * unfinished files.
 *
 * A referring object is removed before the object that it refers to, so a kill
 * at any instant leaves a store that works. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;
struct err;
struct store;

struct collected {
	size_t images, layers, blobs, partial;
	size_t used;	/* unnamed images that a sandbox uses, which stay */
	size_t ranged;	/* copies of layers for --idmap ranges */
	uint64_t bytes; /* of files */
};

/* The caller holds the store's lock alone.  `only_looks`: removes nothing. */
int collect(const struct store *s, bool only_looks, struct collected *ret, struct err *e);

/* Whether a sandbox uses the image. */
bool gc_is_used(const struct store *s, const struct digest *image);
