/* path_walk -- follows a path name by name, with its symbolic links, in a tree that the
 * kernel cannot look a path up in: layers without a mount, a root that is only planned,
 * or folders in which the caller wants to see each link.
 *
 * This module splits the path into names, inserts the text of links and counts the
 * links.  The caller's callbacks (struct path_tree) keep the present folder, look
 * names up, and decide about ".." and about rights.  So a link leads only where the
 * callbacks go; this module makes no system call. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define PATH_WALK_LINKS_MAX 40 /* the bound of links on one path, as the kernel has it
				* (path_resolution(7)) */

/* Results of the callbacks.  PATH_WALK_ON: the step is done.  A negative result ends
 * the walk. */
enum { PATH_WALK_ON, PATH_WALK_LINK };

struct path_tree {
	/* Goes to `name`, which may be "." or "..", in the present folder of the
	 * walk.  Returns PATH_WALK_LINK, without going there, if `name` is a link to
	 * be followed.  `is_last`: `name` is the last one of the path. */
	int (*enter)(void *context, const char *name, bool is_last);

	/* Gives the text of the link that enter() has found, in PATH_MAX bytes.
	 * Returns PATH_WALK_LINK if the callback has gone to the link's target
	 * itself, since the link has no text that could be followed. */
	int (*read_link)(void *context, const char *name, char *to);

	/* Goes to the root of the tree, for a link whose text begins with "/". */
	int (*go_root)(void *context);
};

struct path_walk {
	const struct path_tree *tree;
	void *context;	 /* borrowed */
	size_t rest_max; /* the most bytes that the rest of the path may have after a
			  * link's text was inserted; 0: only the number of links is
			  * bounded */
	int links;	/* the number of links that were followed so far */
};

/* Walks `path` from the present folder of the tree, even if `path` begins with "/".
 * A path that ends in "/" is walked as if "." stood behind it.  Returns 0, or the
 * negative result of a callback, or -ELOOP for a link beyond the bound, which is not
 * read, or -ENAMETOOLONG. */
int path_walk(struct path_walk *w, const char *path);
