/* mounts -- executes the plan's steps and makes the result the root.
 *
 * Theory of operation.  We are in the child, in a mount namespace of its own
 * that is a copy of the host's.  Another user namespace owns the copy, so its
 * mounts are slaves of the host's (MS_SLAVE, see mount_namespaces(7)): the host
 * sees nothing that we mount.  The new root is mounted over "/".  Our own path
 * look-ups still start below that mount, so the host's paths stay usable as
 * sources, while targets are resolved through the new root's descriptor only.
 * At the end pivot_root(".", ".") swaps the two and the old tree is detached
 * whole: from then on no path, no ".." and no open descriptor leads to it.
 *
 * Each mount is made detached (open_tree, fsmount), given its flags with
 * mount_setattr(AT_RECURSIVE) and private propagation while no process can see
 * it, and only then attached: there is no moment in which a read-only mount is
 * writable. mountinfo is never read, so the cost is linear. */
#pragma once

struct err;
struct plan;

/* Descriptors that the steps leave open for the caller; -1: there is none. */
struct mounted {
	int logs;  /* owned: the folder that STEP_LOGS made, writable */
	int upper; /* owned: the folder that STEP_OVERLAY's root writes to */
	/* owned: the folder sys of STEP_PROC's procfs, beneath the read-only mount that
	 * processes inside see (rlimits.h); -1: the plan has no STEP_PROC */
	int sysctls;
};

/* Needs: the child's namespaces and id maps; for a served root the socket of
 * root_fuse_start(), else -1.  Does: all steps, pivot_root.  Leaves: the working
 * directory at the new root, and no trace of the old root but ret->upper. */
int mounts_run(const struct plan *p, int server, struct mounted *ret, struct err *e);

/* Makes a fresh, detached procfs of the caller's pid namespace.  Where parts
 * of the existing /proc are masked the kernel refuses it, and the error says
 * so. */
int mounts_make_proc(struct err *e);

/* Makes a procfs for the executor alone.  It has only the folders of processes
 * (subset=pid), but those of all processes, undumpable ones and other users' too.
 * Call it before mounts_run(), whose masks would make the kernel refuse it. */
int mounts_make_own_proc(struct err *e);
