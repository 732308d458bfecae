/* refs -- maps references to images, by links below names/ of the store.
 *
 * A file's name is the whole reference (reference_print) with its slashes as "%2F";
 * the link's text is 64 hexadecimal digits, the digest of a manifest.  A link is put
 * in place atomically, and read with one call. */
#pragma once
#include "store/digest.h"

struct err;
struct reference;
struct store;

/* Finds the image of a name.  ERR_NOT_FOUND: no image has the name. */
int refs_get(const struct store *s, const struct reference *r, struct digest *ret,
	      struct err *e);

/* Gives the name to the image; another image that had it loses it. */
int refs_put(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e);

/* Gives the name to the image only if no image has it; else ERR_EXISTS. */
int refs_add(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e);

int refs_remove(const struct store *s, const struct reference *r, struct err *e);

/* Calls the function for each name, sorted; other files in the folder are skipped. */
int refs_each(const struct store *s,
	      void (*take)(void *context, const struct reference *r,
			   const struct digest *image),
	      void *context, struct err *e);
