/* upper -- a folder on disk for what is written over an image.
 *
 * Where a tmpfs has no user.* attributes (kernels before 6.6) an overlay needs
 * its upper layer on another file system: a folder of ours, below the state
 * folder or, where that is a tmpfs too, the data folder.  It is locked while it
 * is used (flock(2)), by us and by the janitor that removes it if we are
 * killed; one that nobody locks is left over, and removed by the next launch
 * that makes one.
 *
 * Or a folder that the caller names, which is kept: what is in it is the upper layer of
 * the next launch that names it.  One launch at a time. */
#pragma once
#include <stdbool.h>

struct err;

struct upper {
	char *path; /* owned; NULL: none */
	int lock;   /* owned */
	bool is_kept; /* the caller's: never removed */
};

/* Whether a tmpfs can be the upper layer: tried on a memfd, which lives on
 * one. */
bool upper_tmpfs_suffices(void);

void upper_init(struct upper *u);

/* Makes a folder on a file system with user.* attributes. */
int upper_make(struct upper *u, struct err *e);

/* The same for a folder that is to be a whole root, "upper" in it, and no layer: in the
 * data folder if there is one, where images are too, and the state folder else; they need
 * no attributes. */
int upper_make_root(struct upper *u, struct err *e);

/* Takes the `folder` of `flag`, for messages, whose path has no links, and makes in it what
 * is missing of "upper" and "work".  ERR_BUSY: another launch has it. */
int upper_keep(struct upper *u, const char *flag, const char *folder, struct err *e);

/* Whether upper_make() would find a place, tried on a file without a name: nothing
 * is left.  *ret_place is where, allocated. */
int upper_try(char **ret_place, struct err *e);

/* The same for upper_make_root(), and whether a copy of a file of the same place shares
 * its content there. */
int upper_try_root(char **ret_place, bool *ret_shares, struct err *e);

/* Removes it with everything in it, unless it is kept.  What the guest made there is only
 * unlinked, by descriptor and without following a link. */
void upper_remove(struct upper *u);
