/* lowers -- what is in an image before it is mounted, by its layers.
 *
 * The layers came from strangers: names are looked up by the kernel, in one layer at a
 * time and never out of it (openat2(2), RESOLVE_IN_ROOT), and nothing is read here.  A
 * link that leads from one layer to another is as if it led nowhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct list;

/* Opens `path`, relative to the root, in the topmost layer that has it, unless one above
 * that has deleted it.  `lowers` are paths of the host, the lowest first.  -1 with
 * errno: ENOENT is that the image has none. */
int lowers_open(const struct list *lowers, const char *path, int flags);

/* What is asked of many names at once, since there may be many layers. */
struct lowers_entry {
	const char *path; /* as above */
	bool follows;	  /* a link at its end */
	/* The answer: 0, and `st`; or an errno. */
	int error;
	struct stat st;
};

void lowers_look(const struct list *lowers, struct lowers_entry *entries, size_t count);
