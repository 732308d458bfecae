/* finds -- the first so many, in some order, of what is found in any order.
 *
 * However many are added, no more than twice the limit are kept at a time, and of long
 * paths fewer: a path may be a MiB. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What is sorted holds no more than this of paths; a good deal more at no time. */
#define FINDS_BYTES (1u << 20)

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
	size_t count, bytes; /* bytes: of their paths */
	size_t sure; /* so many are sorted, and what comes behind the last is dropped */
	uint64_t dropped;	/* how many there were beyond the limit... */
	uint64_t dropped_bytes; /* ...and the length of their paths */
};

/* Copies the path. */
void finds_add(struct finds *f, const struct find *one);

/* Sorts what there is, at most `limit` of them. */
void finds_end(struct finds *f);
void finds_done(struct finds *f);
