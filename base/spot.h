/* spot -- finds the folder and the last name of a path, for a caller that cannot leave
 * that to the kernel: links are read and followed here, so that the caller can replace
 * or refuse a link.
 *
 *	struct spot_search w = { .read_link = ... };
 *	struct spot s = { .dir = -1 };
 *
 *	error = spot_find(&w, base, path, &s);
 *	...use openat(s.dir, s.name, O_NOFOLLOW), and where that is a link:
 *	error = spot_follow(&w, &s);
 *	...
 *	spot_done(&s);
 *
 * Each folder on the way is held open as a descriptor, and no name is looked up
 * twice.  Where no link is on the way to the last name, one call of the kernel does
 * the whole lookup.  All functions return 0 or a negative errno. */
#pragma once
#include <stdbool.h>

struct spot_search {
	/* Gives the text of a link in PATH_MAX bytes.  Returns SPOT_MAGIC if the link
	 * has no text that could be followed. */
	int (*read_link)(void *context, int dir, const char *name, char *to);
	void *context;	  /* borrowed */
	int links, names; /* how many links were followed, and how many names were
			   * looked up one by one */
	bool has_magic;	  /* one of the links could only be followed by the kernel
			   * (proc(5)) */
};

#define SPOT_MAGIC 1 /* the result of read_link: only the kernel can follow the link
		      * (proc(5)) */

/* A name in a folder, which exists or is to be made.  The name is "" where a path
 * ends in "/", "." or "..": the spot is then the folder itself.  Otherwise the name
 * keeps a "/" behind it. */
struct spot {
	int dir; /* owned: the folder, opened with O_PATH */
	char name[257];
	bool is_magic; /* the spot is a link that only the kernel can follow */
};

void spot_done(struct spot *s);

/* Finds the spot of `path`.  `base` is borrowed, and not used where the path is
 * absolute. */
int spot_find(struct spot_search *w, int base, const char *path, struct spot *ret);

/* Goes to the target of the link at the spot; a magic link is not followed. */
int spot_follow(struct spot_search *w, struct spot *s);

/* Reads the text of a link, for read_link: like readlinkat(2), with a NUL at the end
 * of the text. */
int spot_read_link(int dir, const char *name, char *to);

/* Return whether a file is in a procfs, and whether the file is the root of one. */
bool spot_is_proc(int fd);
bool spot_is_proc_root(int fd);
