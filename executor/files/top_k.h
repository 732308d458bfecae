/* top_k -- keeps the first K entries, in some order, of entries that are added in any
 * order.
 *
 * However many are added, at most twice the limit are kept at a time, and fewer if
 * their paths are long: a path may be a MiB. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The limit for the paths' total length after sorting; before that the paths may take a
 * few times as much. */
#define TOP_K_BYTES (1u << 20)

struct find {
	char *path; /* owned */
	bool is_folder;
	struct timespec changed;
};

struct top_k {
	/* Compares two struct find, as for qsort(3). */
	int (*compare)(const void *one, const void *other);
	size_t limit; /* the most entries that are kept; above 0 */

	struct find *all; /* owned */
	size_t count, bytes; /* how many entries there are, and the bytes of their
			      * paths */
	size_t sure; /* this many entries are sorted, and a new entry that comes behind
		      * the last of them is dropped */
	uint64_t dropped;	/* how many entries were beyond the limit and not kept */
	uint64_t dropped_bytes; /* the total length of the dropped entries' paths */
};

/* Adds an entry, with a copy of its path. */
void top_k_add(struct top_k *f, const struct find *one);

/* Sorts the entries, and keeps at most `limit` of them. */
void top_k_end(struct top_k *f);
void top_k_done(struct top_k *f);
