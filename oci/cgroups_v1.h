/* cgroups_v1 -- limits and device rules where a controller belongs to cgroup v1.
 *
 * On a host with the hybrid layout the container has its cgroup in the v2 hierarchy, and
 * beside it one of the same path in each v1 hierarchy that a limit needs.  The limits are
 * those of resources.h; a table says which file of v1 each v2 file is.  A limit that has
 * none there is an error that names the member. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct resources;
struct resources_write;

/* Tells whether a v1 hierarchy has the controller of the limit. */
bool cgroups_v1_has(const struct resources_write *w);
/* Tells whether the container has a cgroup there. */
bool cgroups_v1_is_made(const struct resources_write *w, const char *path);
/* Tells whether a v1 hierarchy has device rules. */
bool cgroups_v1_has_devices(void);

/* Makes the container's cgroup of the write's controller, if this user may. */
void cgroups_v1_make(const struct resources_write *w, const char *path);

/* Writes a limit to the container's cgroup `path` ("/a/b") of v1, which is made if it is
 * missing. */
int cgroups_v1_apply(const struct resources_write *w, const char *path, struct err *e);
/* Writes the device rules. */
int cgroups_v1_set_devices(const struct resources *r, const char *path, struct err *e);
/* Makes the container's cgroup in v1's freezer, which keeps its processes together where
 * there is no v2 hierarchy.  Returns the folder, allocated; NULL: there is no freezer, or
 * this user may make none. */
char *cgroups_v1_make_freezer(const char *path);
/* Freezes or thaws it. */
int cgroups_v1_freeze(const char *folder, bool is_frozen, struct err *e);
/* Thaws it and those below it, which hold even a killed process back as long as they are
 * frozen. */
int cgroups_v1_thaw(const char *folder, struct err *e);

/* Calls `does` with the name and the folder of each hierarchy in which the cgroup exists. */
void cgroups_v1_each(const char *path,
		     void (*does)(const char *controller, const char *folder, void *arg),
		     void *arg);
/* Calls `does` with a descriptor of each that exists, which stays this function's.  A process of
 * one thread enters the cgroup with it by cgroups_v1_enter().  When another process moves it,
 * the kernel waits for a grace period of RCU: some 10 ms on a host that starts processes. */
int cgroups_v1_open_each(const char *path,
			 int (*does)(int entry, void *arg, struct err *e), void *arg,
			 struct err *e);
/* Moves this process, which has one thread, to the cgroup of the descriptor. */
int cgroups_v1_enter(int entry, struct err *e);
/* Removes them and those below them, when no process is left. */
int cgroups_v1_remove(const char *path, struct err *e);
