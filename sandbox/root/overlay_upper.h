/* overlay_upper -- a folder on disk for the files that are written over an image.
 *
 * Where a tmpfs has no user.* attributes (kernels before 6.6) an overlay needs
 * its upper layer on another file system: a folder of hutch's own, below the
 * state folder or, where that is a tmpfs too, the data folder.  While it is in
 * use, this process and the janitor hold its lock (flock(2)).  If this process is
 * killed, the janitor removes the folder.  If both were killed, no process holds
 * the lock, and the next launch that makes such a folder removes it.
 *
 * The folder may also be one that the caller names, which is kept: its content
 * is the upper layer of the next launch that names it.  One launch uses it at a
 * time. */
#pragma once
#include <stdbool.h>

struct err;

struct overlay_upper {
	char *path; /* owned; NULL: none */
	int lock;   /* owned: the descriptor that holds the lock */
	bool is_kept; /* the folder is the caller's, and never removed */
};

/* Returns whether a tmpfs can be the upper layer: tried on a memfd, which
 * lives on a tmpfs. */
bool overlay_upper_tmpfs_suffices(void);

void overlay_upper_init(struct overlay_upper *u);

/* Makes a folder on a file system with user.* attributes. */
int overlay_upper_make(struct overlay_upper *u, struct err *e);

/* Makes a folder for the copy of a whole root, in which "upper" is that root
 * and not a layer: below the data folder if there is one, where images are
 * too, else below the state folder. The file system needs no attributes. */
int overlay_upper_make_root(struct overlay_upper *u, struct err *e);

/* Takes `folder`, whose path has no links, and makes "upper" and "work" in it
 * where they are missing; `flag` is the option, for messages.  ERR_BUSY:
 * another launch has the folder. */
int overlay_upper_keep(struct overlay_upper *u, const char *flag, const char *folder,
		       struct err *e);

/* Finds out whether overlay_upper_make() would find a place, by making a file that
 * has no name (O_TMPFILE), so that nothing is left behind.  *ret_place is the place,
 * allocated. */
int overlay_upper_try(char **ret_place, struct err *e);

/* Finds out whether overlay_upper_make_root() would find a place.  *ret_shares tells
 * whether a copy of a file there can share its content with the original (FICLONE). */
int overlay_upper_try_root(char **ret_place, bool *ret_shares, struct err *e);

/* Removes the folder with everything in it, unless it is kept.  Files that processes
 * inside made in it are only unlinked, by descriptor and without following a link. */
void overlay_upper_remove(struct overlay_upper *u);
