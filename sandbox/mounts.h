/* mounts -- executes the plan's steps and makes the result the root.
 *
 * Theory of operation.  We are in the child, in a mount namespace of its own
 * that is a copy of the host's.  Owned by another user namespace, that copy
 * receives nothing that we mount towards the host (MS_SLAVE, see
 * mount_namespaces(7)).  The new root is mounted over "/", where our own path
 * look-ups still start from below it, so the host's paths stay nameable as
 * sources while targets are resolved inside the new root's descriptor only.
 * At the end pivot_root(".", ".") swaps the two and the old tree is detached
 * whole: from then on no path, no ".." and no open descriptor leads to it.
 *
 * Each mount is made detached (open_tree, fsmount), given its flags with
 * mount_setattr(AT_RECURSIVE) and private propagation while nobody can see it,
 * and only then attached: there is no moment in which a read-only mount is
 * writable.  mountinfo is never read, so the cost is linear. */
#pragma once

struct err;
struct plan;

/* What the steps leave open, for others; -1: there is none. */
struct mounted {
	int logs;  /* owned: the folder that STEP_LOGS made, writable */
	int upper; /* owned: the folder that STEP_OVERLAY's root writes to */
};

/* Needs: child's namespaces and id maps; for a root that is served, the socket of
 * fuse_start(), else -1.  Does: all steps, pivot_root.  Leaves: cwd at the new root, no
 * trace of the old but ret->upper. */
int mounts_run(const struct plan *p, int server, struct mounted *ret, struct err *e);

/* A fresh procfs, detached, of the caller's pid namespace.  Where parts of the
 * /proc that is there already are masked the kernel refuses it, and the error
 * says so. */
int mounts_make_proc(struct err *e);

/* The same for the executor alone: of processes only, and of all of them, undumpable
 * ones and other users' too.  Not after mounts_run(), whose masks are in the way. */
int mounts_make_own_proc(struct err *e);
