/* spaces -- the namespaces of a container: new ones, joined ones, and their id maps. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "oci/config.h"

struct err;

/* Tells whether this process is in a user namespace other than the host's: rootless
 * engines make one and run their runtime as its root. */
bool spaces_in_userns(void);

/* Forks a process into the namespaces of the configuration, except a cgroup namespace,
 * which is to be made inside the container's cgroup (spaces_enter_cgroup()).  Returns its
 * pid, or 0 in the process itself, whose parent is the caller.  The process is born in the
 * cgroup of v2 that `cgroup` is a descriptor of, if the kernel lets it; -1: there is none. */
pid_t spaces_clone(const struct config *c, int cgroup, struct err *e);

/* Installs the id maps of a new user namespace, from outside.  Maps of one id of this
 * user's own are written directly, and so are any if this process may; others go through
 * newuidmap(1) and newgidmap(1). */
int spaces_map_ids(const struct config *c, pid_t pid, struct err *e);

/* In the process, when its ids are mapped: becomes root inside, where that exists. */
int spaces_become_root(const struct config *c, struct err *e);
/* In the process, when it is in its cgroup. */
int spaces_enter_cgroup(const struct config *c, struct err *e);
/* In the process, before its mounts: if the container is to be in the caller's mount namespace,
 * moves this process to a new one for the time being, and sets *ret_home to a descriptor of the
 * caller's, which the caller of this function owns.  Else *ret_home stays as it is. */
int spaces_leave_mounts(const struct config *c, int *ret_home, struct err *e);
/* Goes back to the mount namespace `home`, unless that is -1, and takes the root along, with the
 * mounts below it.  They are in no namespace then, so the host does not have them, and they last
 * as long as a process has them for its root. */
int spaces_return(int home, struct err *e);
/* Sets host name, domain name, sysctls and the loopback device of new namespaces. */
int spaces_set_up(const struct config *c, struct err *e);

/* Is called on the way into namespaces, outside of the container; what it changes of its own
 * process, the new one inherits. */
struct spaces_before {
	int (*does)(void *arg, struct err *e);
	void *arg;
	bool takes_root; /* the container has no mount namespace of its own: its root is
			  * that of its process alone (spaces_return()) */
};

/* Forks a process into all namespaces of process `pid`, and into the cgroup as spaces_clone()
 * does; 0 in the process itself, whose parent is the caller. */
pid_t spaces_join(pid_t pid, const struct spaces_before *before, int cgroup,
		  struct err *e);
/* Opens a user namespace with the maps, for id-mapped mounts. */
int spaces_make_userns(const struct idmap *uids, size_t uid_count,
		       const struct idmap *gids, size_t gid_count, struct err *e);
