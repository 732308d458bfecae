/* raw_mounts -- does the steps of a raw plan and makes the result the root.
 *
 * Works as sandbox/root/mounts.h describes: the new root is mounted over "/", host paths
 * stay usable as sources, each mount is made detached and attached when it has its flags,
 * and pivot_root(2) swaps the two trees at the end. */
#pragma once

struct err;
struct raw_plan;
struct raw_step;

/* Needs: a mount namespace of the caller's own, CAP_SYS_ADMIN over it, a umask of 0.
 * Does: all steps.  Leaves: the new root, over "/" but not yet entered; *ret_root is a
 * descriptor of it, owned by the caller, for pivot_into() (sandbox/kernel/pivot.h).  Host
 * paths still lead to the host. */
int raw_mounts_make(const struct raw_plan *p, int *ret_root, struct err *e);

/* Clones the source of a RAW_BIND with its flags and its id map, for a step with is_detached
 * that another process does: one in a user namespace may map no ids of the host's mounts.
 * Returns the mount. */
int raw_mounts_detach(const struct raw_step *s, struct err *e);
