/* roll -- the names in a folder, read at once, so that no position in a folder that
 * changes has to be kept.
 *
 * The zero object is an empty one. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct roll {
	char *text; /* owned: each name with its 0 */
	size_t len, room, next;
	const char **sorted; /* owned; after roll_sort() */
	size_t count;
};

/* Reads the names but "." and "..", by the system call, since opendir(3) would open the
 * folder once more.  More than `max` bytes of names is EOVERFLOW.  -1 with errno set:
 * what was read by then is there. */
int roll_read(int folder, size_t max, struct roll *ret);
void roll_done(struct roll *r);

/* In the order of their bytes, from then on. */
void roll_sort(struct roll *r);

/* The next one, or NULL. */
const char *roll_next(struct roll *r);

/* Its number in `sorted`, or -1. */
ssize_t roll_find(const struct roll *r, const char *name);
