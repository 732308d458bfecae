/* cgroup_tree -- a cgroup and all cgroups below it.
 *
 * A container that may write to its cgroup can make others below it, thousands of levels
 * deep.  These functions hold three descriptors at any depth, and neither recurse nor use
 * paths: they go down by a name, and up by "..", which must then be the folder that they
 * came from.  A cgroup that disappears meanwhile is passed over. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct err;

/* The most cgroups that one call looks at.  More are ERR_LIMIT. */
#define CGROUP_TREE_MAX (1u << 18)

/* Calls `does` with a descriptor of the cgroup `top` and of each one below it, upper ones
 * first.  A failure of `does` ends the visit.  `top` stays the caller's. */
int cgroup_tree_visit(int top, int (*does)(int folder, void *arg, struct err *e),
		      void *arg, struct err *e);

/* Lists the processes of the cgroup and of those below it.  *ret is allocated.  A
 * threaded cgroup tells no processes (cgroups(7)), so the list has its threads. */
int cgroup_tree_pids(int top, pid_t **ret, size_t *ret_count, struct err *e);

/* Removes the cgroup `name` of the folder `parent` and all below it, lower ones first; one
 * that is not there is removed.  The first that has processes is an error that names it;
 * that cgroup and those above it remain. */
int cgroup_tree_remove(int parent, const char *name, struct err *e);
