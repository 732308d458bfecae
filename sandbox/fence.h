/* fence -- Landlock as a second wall around a sandbox that has a root of its own.
 *
 * What can be named inside lies below the root, and all of that stays open.  What has
 * come inside by another way, a descriptor of a folder of the host's, a link in /proc to
 * one, a mount that is not in this tree, leads nowhere: no file can be opened, executed,
 * made, linked or renamed by it.
 *
 * A rule is about an inode.  The kernel walks from the file that is asked for up to the
 * root of all mounts and looks for one on the way (landlock(7)), so one rule with the
 * root covers what is mounted below it too; and what is attached nowhere needs a rule
 * of its own, as each descriptor does that may be opened again (/proc/self/fd).  Pipes,
 * sockets and memfds have no path and are not looked at.
 *
 * Whoever is in a domain cannot mount, and traces only who is in the same one or below
 * it: all that run inside are in this one.  What was opened before stays as it was. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define FENCE_OTHERS 8

struct fence {
	int root; /* borrowed, as all are; O_PATH will do */
	int others[FENCE_OTHERS]; /* what else may be opened, and what lies below it */
	size_t other_count;
	bool hides_abstract; /* abstract sockets and signals stay inside: ABI 6 */
};

/* Adds one to the others; a negative one is none. */
void fence_add(struct fence *f, int fd);

/* This process, and all that it starts, from here on.  Needs no_new_privs and
 * LANDLOCK_ABI_REFER: an older domain would let nothing be moved to another folder. */
int fence_enter(const struct fence *f, struct err *e);
