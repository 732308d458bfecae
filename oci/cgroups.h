/* cgroups -- the cgroup of a container.
 *
 * The path is the configuration's cgroupsPath below the v2 hierarchy.  On a machine with the
 * hybrid layout that hierarchy has few controllers; it keeps the processes together (freeze,
 * kill) and holds device rules, and limits go to v1's hierarchies (cgroups_v1.h).  Where no
 * cgroup can be made, as for an ordinary user without delegation, a container without limits
 * runs in the cgroup of its engine. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct json_at;
struct resources;

enum cgroups_manager { CGROUPS_FS, CGROUPS_SYSTEMD, CGROUPS_DISABLED };

struct cgroups_order {
	enum cgroups_manager manager;
	const char *path; /* cgroupsPath; NULL: one of its own.  A path, or for systemd
			   * "SLICE:PREFIX:NAME" */
	const char *id;
	const char
		*name; /* of one without a path; no other container on the host has it */
	const struct resources *resources;
};

/* Where a container's cgroups are.  All are allocated, by the callee. */
struct cgroups_place {
	char *folder; /* in the v2 hierarchy; NULL: none */
	char *v1;     /* the path in those of v1 that exist (cgroups_v1.h); NULL: none */
	char *scope;  /* the unit of systemd that it belongs to (systemd.h); NULL: none */
};

/* Chooses the path of the container's cgroups: "/a/b", below each hierarchy.  *ret is
 * allocated, or NULL: the container has none, or systemd chooses it. */
int cgroups_choose(const struct cgroups_order *o, char **ret, struct err *e);
/* Makes the cgroup of v2, for a process that is to be cloned into it.  *ret is filled in on
 * failure, too, for cgroups_remove(). */
int cgroups_make(const struct cgroups_order *o, struct cgroups_place *ret, struct err *e);
/* Moves `pid` to the cgroup of v2, unless the process is there, sets the limits, and makes the
 * cgroups of v1, which the process enters itself (cgroups_v1_open_each()). */
int cgroups_enter(const struct cgroups_order *o, pid_t pid, struct cgroups_place *place,
		  struct err *e);
/* Opens the cgroup for spaces_clone(); -1: that cannot be, and cgroups_enter() says why. */
int cgroups_open(const char *path);
/* Moves a process to a cgroup of v2, unless it is there. */
int cgroups_join(const char *path, pid_t pid, struct err *e);
/* Moves a process to the container's cgroup of v2, or to that of the container's first process
 * if that is below: a cgroup of v2 that has given controllers to those below it takes no
 * processes (cgroups(7), "no internal processes"). */
int cgroups_follow(const char *path, pid_t first, pid_t pid, struct err *e);
/* Moves a process to the cgroup of v2 `below` the container's, as "a/b", which exists.  Where the
 * container's is one of v1, only checks that there is such a cgroup. */
int cgroups_join_below(const char *path, const char *below, pid_t pid, struct err *e);
/* Tells whether the cgroup is one of v2. */
bool cgroups_is_v2(const char *path);
/* Returns the folder of the hierarchy, or NULL. */
const char *cgroups_root(void);
/* Returns the folder of this process's own cgroup, allocated, or NULL. */
char *cgroups_own(void);

bool cgroups_is_frozen(const char *path);
int cgroups_freeze(const char *path, bool is_frozen, struct err *e);

/* Lists the processes of the cgroup and those below it (cgroup_tree.h); *ret is
 * allocated. */
int cgroups_pids(const char *path, pid_t **ret, size_t *ret_count, struct err *e);
/* Sends a signal to all of them. */
int cgroups_signal(const char *path, int sig, struct err *e);
/* Kills what is in it, removes it and all below it, and stops the scope. */
int cgroups_remove(const struct cgroups_place *p, struct err *e);
