/* census -- lists the images and names in the store and their references.
 *
 *	names --> images --> layers, and the blobs of manifest, configuration, layers
 *
 * The list stays consistent while the caller holds the store's lock. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"
#include "store/recipe.h"
#include "store/reference.h"

struct err;
struct store;

struct census_image {
	struct digest digest; /* of its manifest */
	struct recipe recipe; /* owned */
	bool is_broken;	      /* the recipe cannot be read: it is empty */
};

struct census_name {
	struct reference reference;
	size_t image; /* in `images`; SIZE_MAX: there is none */
	struct digest digest;
};

struct census {
	struct census_image *images; /* owned; in the order of their digests */
	size_t image_count;
	struct census_name *names; /* owned; in the order of the names */
	size_t name_count;
};

/* `ret` must be released with census_done(). */
int census_take(const struct store *s, struct census *ret, struct err *e);
void census_done(struct census *c);

/* The names of all files in one of the store's folders that are digests, in order. */
struct list;
int census_files(const struct store *s, const char *folder, struct list *ret,
		 struct err *e);

/* Finds an image by a reference that a person typed, or by the first digits, at
 * least four, of its id or digest.  *ret_name is SIZE_MAX in the second case. */
int census_find(const struct census *c, const char *text, size_t *ret_image,
		size_t *ret_name, struct err *e);

/* The same for a caller that needs no census.  *ret_name is the reference that
 * was asked for, or one without a registry if `text` was an id; it may be NULL. */
int census_resolve(const struct store *s, const char *text, struct digest *ret,
		   struct reference *ret_name, struct err *e);
