/* image_nearest -- finds the image in the store that a mistyped reference most likely means.
 *
 *	struct image_nearest n;
 *	image_nearest_init(&n, text);
 *	for each name in the store: image_nearest_try(&n, &reference);
 *	image_nearest_suggest(&n, e);
 *
 * A reference without a tag is compared with the repositories alone, so that "debain" finds
 * debian:12 (base/nearest.h says what is near). */
#pragma once
#include <stdbool.h>

#include "base/nearest.h"
#include "store/reference.h"

struct err;
struct store;

struct image_nearest {
	struct nearest nearest;
	char word[REFERENCE_MAX];   /* `nearest` borrows it */
	bool has_version;	    /* tags and digests are compared, too */
	char name[NEAREST_MAX + 1]; /* the whole name of the nearest image; "": none is near */
};

/* If the text is no reference, nothing is near to it. */
void image_nearest_init(struct image_nearest *n, const char *text);
void image_nearest_try(struct image_nearest *n, const struct reference *r);
/* Appends to the error "; is it NAME?" if an image of another name is near.  Returns -1. */
int image_nearest_suggest(struct image_nearest *n, struct err *e);

/* All of it, with the names of a store. */
int image_nearest_in(const struct store *s, const char *text, struct err *e);
