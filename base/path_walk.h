/* path_walk -- follows a path name by name, with its symbolic links, in a tree that the
 * kernel cannot look a path up in: layers without a mount, a root that is only planned,
 * or folders in which the caller wants to see each link.
 *
 * The walk knows names, the text of links and their bound.  The tree knows where the
 * walk is and what is there, and decides about ".." and about rights.  So a link leads
 * only where the tree's callbacks go; the walk itself asks the kernel nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define PATH_WALK_LINKS_MAX 40 /* the bound of links on one path, as the kernel has it
				* (path_resolution(7)) */

/* Results of the callbacks; a negative one ends the walk. */
enum { PATH_WALK_ON, PATH_WALK_LINK };

struct path_tree {
	/* Goes to `name`, which may be "." or "..", in the folder where the walk is.
	 * PATH_WALK_LINK: a link is there that is to be followed, and the walk has
	 * not moved.  `is_last`: no name comes behind it. */
	int (*enter)(void *who, const char *name, bool is_last);

	/* Gives the text of the link that enter() has found, in PATH_MAX bytes.
	 * PATH_WALK_LINK: the tree has gone where the link leads, since it has no text
	 * that could be followed. */
	int (*read_link)(void *who, const char *name, char *to);

	/* Goes to the root of the tree, for a link whose text begins with "/". */
	int (*go_root)(void *who);
};

struct path_walk {
	const struct path_tree *tree;
	void *who;	/* borrowed */
	size_t rest_max; /* the bound in bytes to which links may lengthen the rest of
			  * the path; 0: only the number of links is bounded */
	int links;	/* the number of links that were followed so far */
};

/* Walks `path` from where the tree is, even if `path` begins with "/".  A path that
 * ends in "/" is walked as if "." stood behind it.  Returns 0, or the negative
 * result of a callback, or -ELOOP before the link behind the bound is read, or
 * -ENAMETOOLONG. */
int path_walk(struct path_walk *w, const char *path);
