/* landlock_root -- Landlock as a second barrier, beside the mount namespace, around a
 * sandbox that has a root of its own.
 *
 * Every file that has a path inside lies below the root, and stays accessible.  Landlock
 * closes three ways around the root: a descriptor of a host folder that was passed into
 * the sandbox, a link in /proc to such a folder, and a mount that is not in the root's
 * tree.  No file can be opened, executed, made, linked or renamed through these.
 *
 * A rule is about an inode.  The kernel walks from the accessed file up to the root of
 * all mounts and looks for a rule on the way (landlock(7)), so one rule for the root
 * covers mounts below the root too.  A file of a mount that is attached nowhere needs a
 * rule of its own, as does each descriptor that may be opened again (/proc/self/fd).
 * Pipes, sockets and memfds have no path and are not checked.
 *
 * A process in a domain cannot mount, and traces only processes in the same domain or
 * below it; all processes inside are in the same domain.  Files that were opened before
 * stay usable. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define LANDLOCK_ROOT_OTHERS 8

struct landlock_root {
	int root; /* borrowed, like all descriptors here; may be O_PATH */
	int others
		[LANDLOCK_ROOT_OTHERS]; /* files and folders outside of the root that may
					 * be opened too */
	size_t other_count;
	bool hides_abstract; /* processes inside reach no abstract sockets and send no
			      * signals outside; needs ABI 6 */
};

/* Adds a descriptor to `others`; a negative one is ignored. */
void landlock_root_add(struct landlock_root *f, int fd);

/* Confines this process, and all processes that it starts from now on, to the root and
 * the files in `others`.  Needs no_new_privs and LANDLOCK_ABI_REFER: in a domain of ABI
 * 1, no file can be moved to another folder. */
int landlock_root_enter(const struct landlock_root *f, struct err *e);
