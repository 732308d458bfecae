/* collect -- what nobody refers to goes: images without a name that nobody uses, layers
 * and blobs of no image, and what was left over.
 *
 * What refers goes before what it refers to, so that a kill at any instant leaves what
 * works. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;
struct err;
struct store;

struct collected {
	size_t images, layers, blobs, partial;
	size_t used;	/* images that have no name, and are used */
	size_t ranged;	/* copies of layers for --idmap ranges */
	uint64_t bytes; /* of files */
};

/* The caller holds the store's lock alone.  `only_looks`: removes nothing. */
int collect(const struct store *s, bool only_looks, struct collected *ret, struct err *e);

/* Whether a sandbox uses the image. */
bool collect_is_used(const struct store *s, const struct digest *image);
