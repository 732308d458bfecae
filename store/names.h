/* names -- which image a reference means: links below names/ of the store.
 *
 * A file's name is the whole reference (reference_print) with its slashes as "%2F"; the
 * link's text is 64 hexadecimal digits, the digest of a manifest.  A link is put in place
 * at once or not at all, and read with one call. */
#pragma once
#include "store/digest.h"

struct err;
struct reference;
struct store;

/* ERR_NOT_FOUND: nothing is called so. */
int names_get(const struct store *s, const struct reference *r, struct digest *ret,
	      struct err *e);

/* In place of what was called so. */
int names_put(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e);

/* Where nothing is called so; else ERR_EXISTS. */
int names_add(const struct store *s, const struct reference *r, const struct digest *image,
	      struct err *e);

int names_remove(const struct store *s, const struct reference *r, struct err *e);

/* All, in the order of their names; whatever else is in the folder is passed over. */
int names_each(const struct store *s,
	       void (*take)(void *who, const struct reference *r, const struct digest *image),
	       void *who, struct err *e);
