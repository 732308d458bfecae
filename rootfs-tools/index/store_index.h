/* store_index -- lists the images and names in the store and their references.
 *
 *	names --> images --> layers, and the blobs of manifest, configuration, layers
 *
 * The list stays consistent while the caller holds the store's lock. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"
#include "store/launch_config.h"
#include "store/reference.h"

struct err;
struct store;

struct store_index_image {
	struct digest digest; /* digest of the image's manifest */
	struct launch_config launch_config; /* owned */
	bool is_broken;	      /* the recipe cannot be read: launch_config is empty */
};

struct store_index_name {
	struct reference reference;
	size_t image; /* index of the image in `images`; SIZE_MAX: the store has no
		       * such image */
	struct digest digest;
};

struct store_index {
	struct store_index_image *images; /* owned; in the order of their digests */
	size_t image_count;
	struct store_index_name *names; /* owned; in the order of the names */
	size_t name_count;
};

/* Lists the store; `ret` must be released with store_index_done(). */
int store_index_take(const struct store *s, struct store_index *ret, struct err *e);
void store_index_done(struct store_index *c);

/* Adds to the list the names of all files in one of the store's folders that are
 * digests, sorted. */
struct list;
int store_index_files(const struct store *s, const char *folder, struct list *ret,
		 struct err *e);

/* Finds an image by a reference that a person typed, or by the first digits, at
 * least four, of its id or digest.  *ret_name is SIZE_MAX in the second case. */
int store_index_find(const struct store_index *c, const char *text, size_t *ret_image,
		size_t *ret_name, struct err *e);

/* Finds an image like store_index_find(), for a caller that has not listed the store.
 * *ret_name is the reference that the text names; if the text is an id, a reference
 * without a registry.  ret_name may be NULL. */
int store_index_resolve(const struct store *s, const char *text, struct digest *ret,
		   struct reference *ret_name, struct err *e);
