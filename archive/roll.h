/* roll -- the names in a folder, read at once, so that no offset in a folder that may
 * change has to be kept.
 *
 * The zero object is an empty roll. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct roll {
	char *text; /* owned: each name with its 0 */
	size_t len, room, next;
	const char **sorted; /* owned; after roll_sort() */
	size_t count;
};

/* Reads all names but "." and "..".  The system call is used, since opendir(3) would
 * open the folder once more.  More than `max` bytes of names is EOVERFLOW.  -1 with
 * errno set: the roll has the names that were read until then. */
int roll_read(int folder, size_t max, struct roll *ret);
void roll_done(struct roll *r);

/* Sorts the names by their bytes; roll_next() and roll_find() then use that order. */
void roll_sort(struct roll *r);

/* The next name, or NULL. */
const char *roll_next(struct roll *r);

/* The index of `name` in `sorted`, or -1. */
ssize_t roll_find(const struct roll *r, const char *name);
