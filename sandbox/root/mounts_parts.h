/* Declarations that mounts.c, mounts_bind.c and cow_mount.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/kernel/mount_target.h"
#include "sandbox/root/masks.h"
#include "sandbox/root/mounts.h"

struct err;
struct plan;
struct step;

/* The state that all steps of the plan share. */
struct tree {
	int root;   /* owned: the new tree's root, attached over "/" */
	int base;   /* owned: STEP_OVERLAY's tmpfs; -1: none */
	int server; /* borrowed: the socket of fuse-overlayfs, if that serves the root
		      * (root_fuse.h) */
	const struct step *overlay; /* the STEP_OVERLAY of which `root` is only one
				     * layer until STEP_MERGE; NULL: none, or the root
				     * is copied or served */
	bool is_whole; /* the root is copied or served: another process may write to it */
	dev_t tmpfs;   /* the device of the STEP_TMPFS that was mounted last */
	struct masks masks;
	struct targets targets;
	const struct plan *plan; /* borrowed */
	size_t at;		 /* number of the step that is being done */
	/* the value of targets.changes when targets.folder was found private and became
	 * the working directory; 0: it is not the working directory */
	unsigned entered;
	struct mounted left;	 /* owned: the descriptors to be left for the caller */
	int *hosts; /* owned: a clone of the host's whole tree for each step that
		     * shows it, else -1 */
};

/* Attaches the mount at the step's target. */
int mounts_attach(struct tree *t, int mount, const struct mount_target *at,
		  const struct step *s, struct err *e);

/* Checks that the mount at `name` in `dir`, or the mount `dir` itself if `name` is empty,
 * shows the file that the plan was made for: another process may have replaced the source
 * since. */
int mounts_check_same(int dir, const char *name, const struct step *s, struct err *e);

/* To be called before the first step, which covers "/". */
int mounts_clone_hosts(struct tree *t, struct err *e);

/* STEP_BIND, STEP_COW and STEP_CGROUP.  mounts_bind() of a prepared folder does the steps that
 * follow and are placed in it, too, and moves t->at. */
int mounts_bind(struct tree *t, const struct step *s, struct err *e);
int mounts_cow(struct tree *t, const struct step *s, struct err *e);
int mounts_cgroup(struct tree *t, const struct step *s, struct err *e);
