/* landlock_root -- Landlock as a second wall around a sandbox that has a root of its
 * own.
 *
 * Every file that has a name inside lies below the root, and all of them stay
 * open.  A descriptor of a host folder, a link in /proc to one, or a mount that
 * is not in this tree, which have come inside by another way, lead nowhere: no
 * file can be opened, executed, made, linked or renamed through them.
 *
 * A rule is about an inode.  The kernel walks from the file that is asked for
 * up to the root of all mounts and looks for a rule on the way (landlock(7)),
 * so one rule for the root covers mounts below it too.  A file that is attached
 * nowhere needs a rule of its own, as does each descriptor that may be opened
 * again (/proc/self/fd).  Pipes, sockets and memfds have no path and are not
 * checked.
 *
 * A process in a domain cannot mount, and traces only processes in the same
 * domain or below it: all processes inside are in this one.  Files that were
 * opened before stay usable. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define LANDLOCK_ROOT_OTHERS 8

struct landlock_root {
	int root; /* borrowed, as all are; O_PATH will do */
	int others
		[LANDLOCK_ROOT_OTHERS]; /* other files that may be opened, and files below
				   * them */
	size_t other_count;
	bool hides_abstract; /* abstract sockets and signals stay inside: ABI 6 */
};

/* Adds a descriptor to the others; a negative one is ignored. */
void landlock_root_add(struct landlock_root *f, int fd);

/* Confines this process and all that it starts, from here on.  Needs
 * no_new_privs and LANDLOCK_ABI_REFER: an older domain would let no file be
 * moved to another folder. */
int landlock_root_enter(const struct landlock_root *f, struct err *e);
