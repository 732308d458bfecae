/* gc -- removes from the store everything that is no longer referred to:
 * unnamed images and steps of builds that no sandbox uses, layers and blobs of no
 * image, and unfinished files.
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
	size_t used;	/* count of unnamed images that stay, since a sandbox uses them */
	size_t ranged;	/* count of removed copies of layers for --idmap ranges */
	uint64_t bytes; /* bytes of the removed files */
};

/* Removes all that is not referred to.  The caller holds the store's lock exclusively, so
 * no build is running that needs its steps.  `only_looks`: removes nothing, and only
 * counts. */
int collect(const struct store *s, bool only_looks, struct collected *ret, struct err *e);

/* Returns whether a sandbox uses the image. */
bool gc_is_used(const struct store *s, const struct digest *image);
