/* upper -- a folder on disk for what is written over an image.
 *
 * Where a tmpfs has no user.* attributes (kernels before 6.6) an overlay needs
 * its upper layer on another file system: a folder of ours, below the state
 * folder or, where that is a tmpfs too, the data folder.  It is locked while it
 * is used (flock(2)), by us and by the janitor that removes it if we are
 * killed; one that nobody locks is left over, and removed by the next launch
 * that makes one. */
#pragma once
#include <stdbool.h>

struct err;

struct upper {
	char *path; /* owned; NULL: none */
	int lock;   /* owned */
};

/* Whether a tmpfs can be the upper layer: tried on a memfd, which lives on
 * one. */
bool upper_tmpfs_suffices(void);

void upper_init(struct upper *u);

/* Makes a folder on a file system with user.* attributes. */
int upper_make(struct upper *u, struct err *e);

/* Whether upper_make() would find a place, tried on a file without a name: nothing
 * is left.  *ret_place is where, allocated. */
int upper_try(char **ret_place, struct err *e);

/* Removes it with everything in it.  What the guest made there is only
 * unlinked, by descriptor and without following a link. */
void upper_remove(struct upper *u);
