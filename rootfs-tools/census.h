/* census -- what is in the store, and who refers to whom.
 *
 *	names --> images --> layers, and the blobs of manifest, configuration, layers
 *
 * Consistent for whoever holds the store's lock. */
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

/* `ret` is to be let go of with census_done(). */
int census_take(const struct store *s, struct census *ret, struct err *e);
void census_done(struct census *c);

/* Every file's name in one of the store's folders that is a digest, in order. */
struct list;
int census_files(const struct store *s, const char *folder, struct list *ret,
		 struct err *e);

/* What a person means: a reference, or the begin of an image's id or digest, of at least
 * four digits.  *ret_name is SIZE_MAX in the second case. */
int census_find(const struct census *c, const char *text, size_t *ret_image,
		size_t *ret_name, struct err *e);

/* The same for who wants to know no more of the store.  *ret_name is what it was asked for
 * by, without a registry if that was no name; it may be NULL. */
int census_resolve(const struct store *s, const char *text, struct digest *ret,
		   struct reference *ret_name, struct err *e);
