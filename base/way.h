/* way -- looks a path up, name by name, for whoever cannot leave that to the kernel: links
 * are read and followed here, so that one can be taken for another, or refused.
 *
 *	struct way w = { .read_link = ... };
 *	struct spot s = { .dir = -1 };
 *
 *	error = way_find(&w, base, path, &s);
 *	...what is done at openat(s.dir, s.name, O_NOFOLLOW), and where that is a link:
 *	error = way_follow(&w, &s);
 *	...
 *	spot_done(&s);
 *
 * Folders are descriptors, and no name is looked up twice.  Where there is no link on the
 * way to the last name, the kernel does it at once.  All give 0 or an errno, negative. */
#pragma once
#include <stdbool.h>

struct way {
	/* The text of a link in PATH_MAX bytes; WAY_MAGIC: it has none. */
	int (*read_link)(void *who, int dir, const char *name, char *to);
	void *who; /* borrowed */
	int links, names; /* that were followed, and looked up by hand */
	bool has_magic;	  /* among the links was one that only the kernel can follow */
};

#define WAY_MAGIC 1 /* only the kernel can follow it (proc(5)) */

/* A name in a folder, which is or is to be.  It is "" where a path ends in "/", "." or "..":
 * the folder itself; else it keeps a "/" behind it. */
struct spot {
	int dir; /* owned, O_PATH */
	char name[257];
	bool is_magic; /* it is such a link */
};

void spot_done(struct spot *s);

/* `base` is borrowed; it is not looked at where the path is absolute. */
int way_find(struct way *w, int base, const char *path, struct spot *ret);

/* Goes where the link leads that it is; stays where that is magic. */
int way_follow(struct way *w, struct spot *s);

/* For read_link: as readlinkat(2), with a 0 at its end. */
int way_read_link(int dir, const char *name, char *to);

/* Whether a file is one of procfs, and the root of one. */
bool way_is_proc(int fd);
bool way_is_proc_root(int fd);
