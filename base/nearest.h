/* nearest -- finds the name that a mistyped word most likely means.
 *
 *	struct nearest n;
 *	nearest_init(&n, word, strlen(word));
 *	for each known name: nearest_try(&n, name);
 *	nearest_name(&n) is "agent" for "agnet", and NULL if no name is near
 *
 * The distance of two words is the number of letters that are missing, too many, or
 * replaced by another, and of neighbors that have changed places; capitals count as small
 * letters.  A third of the word's letters may differ.  If no name is as near, one that begins with the word's first four
 * letters counts, as --memory for --mem. */
#pragma once
#include <stddef.h>

struct err;

#define NEAREST_MAX 48 /* the most bytes of a word, and of a name, that are compared */

struct nearest {
	const char *word; /* borrowed */
	size_t len;
	char name[NEAREST_MAX + 1]; /* the nearest name so far */
	size_t distance;	    /* of that name, or the largest one allowed, plus 1 */
};

void nearest_init(struct nearest *n, const char *word, size_t len);
/* Compares the word with `name`; the first of several names at the same distance is
 * kept. */
void nearest_try(struct nearest *n, const char *name);
/* Returns the nearest name, which belongs to `n`; NULL: none is near. */
const char *nearest_name(const struct nearest *n);
/* Appends to the error "; is it NAME?", with `before` in front of the name, if one is near.
 * Returns -1, like the functions of err.h. */
int nearest_suggest(const struct nearest *n, const char *before, struct err *e);
