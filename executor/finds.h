/* finds -- the first so many, in some order, of what is found in any order.
 *
 * However many are added, no more than twice the limit are kept at a time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct find {
	char *path; /* owned */
	bool is_folder;
	struct timespec changed;
};

struct finds {
	/* As of qsort(3), of two struct find. */
	int (*compare)(const void *one, const void *other);
	size_t limit; /* above 0 */

	struct find *all; /* owned */
	size_t count;
	uint64_t dropped;	/* how many there were beyond the limit... */
	uint64_t dropped_bytes; /* ...and the length of their paths */
};

/* Copies the path. */
void finds_add(struct finds *f, const struct find *one);

/* Sorts what there is, at most `limit`. */
void finds_end(struct finds *f);
void finds_done(struct finds *f);
