/* top_k -- the first entries, up to a limit and in some order, of entries that are
 * added in any order.
 *
 * However many are added, at most twice the limit are kept at a time, and fewer if
 * their paths are long: a path may be a MiB. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Total length of the paths that are kept after sorting; before that they may take a
 * few times as much. */
#define TOP_K_BYTES (1u << 20)

struct find {
	char *path; /* owned */
	bool is_folder;
	struct timespec changed;
};

struct top_k {
	/* As for qsort(3), with two struct find. */
	int (*compare)(const void *one, const void *other);
	size_t limit; /* above 0 */

	struct find *all; /* owned */
	size_t count, bytes; /* bytes: of their paths */
	size_t sure; /* this many are sorted, and an entry that comes behind the last of
		      * them is dropped */
	uint64_t dropped;	/* how many entries were beyond the limit... */
	uint64_t dropped_bytes; /* ...and the length of their paths */
};

/* Adds an entry, with a copy of its path. */
void top_k_add(struct top_k *f, const struct find *one);

/* Sorts the entries, and keeps at most `limit` of them. */
void top_k_end(struct top_k *f);
void top_k_done(struct top_k *f);
