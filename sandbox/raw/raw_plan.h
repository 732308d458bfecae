/* raw_plan -- a root file system exactly as a bwrap command line or an OCI bundle words it.
 *
 * The plan of other programs (sandbox/plan/plan.h) always has hutch's walls: masks in
 * /proc, the executor as pid 1, the seccomp floor.  A raw plan has none of them: each
 * step stands in the words of the caller, and the order of the steps is the caller's.
 * Only hutch-bwrap and hutch-oci are linked with this room (tests/run/raw.bats).
 *
 *	raw_plan_init, raw_plan_add..., (raw_plan_print | raw_mounts_run), raw_plan_done
 *
 * Targets are paths below the new root, and lead nowhere else through any link
 * (sandbox/kernel/mount_target.h).  Sources are paths of the host, or descriptors. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/list.h"

#define RAW_NO_OWNER 4096 /* beyond all values of errno: the id maps lack an owner */

enum raw_kind {
	RAW_BIND,    /* shows the source at the target */
	RAW_MOUNT,   /* mounts a new file system of `type`; data: its options */
	RAW_OVERLAY, /* mounts an overlay of `lowers`; with `upper` and `work` it is
			* writable, with is_scratch it writes to the root's own tmpfs */
	RAW_DIR,     /* makes a directory with `mode`, if there is none */
	RAW_FILE,    /* writes the content of `fd` to a file with `mode`; an existing file is
			* overwritten */
	RAW_DATA,    /* binds a file that holds the content of `fd` over the target */
	RAW_SYMLINK, /* makes a link to `source`; a link that leads there already will do */
	RAW_CHMOD,   /* changes the mode of the target to `mode` */
	RAW_DEVICE,  /* makes the device file `device` of type and permissions `mode`; binds the
			* host's file of the same path where mknod(2) is refused.  With `fd`,
			* a detached mount of such a file, shows that */
	RAW_REMOUNT, /* changes the flags of the mount at the target */
	RAW_COVER,   /* makes the target read-only by mounting it over itself; skipped if it
			* does not exist or cannot be written */
	RAW_MASK,    /* hides a file below /dev/null, a directory below an empty read-only
			* tmpfs; skipped if the target does not exist */
	RAW_KIND_COUNT
};

/* Flags of a mount as mount_setattr(2) takes them. */
struct raw_flags {
	uint64_t set, clear; /* MOUNT_ATTR_* */
};

struct raw_step {
	enum raw_kind kind;
	char *target;	     /* owned */
	char *source;	     /* owned; NULL: there is none, or `fd` is it */
	int fd;		     /* owned: the source, in its place; -1: none */
	char *type, *data;   /* owned; RAW_MOUNT */
	struct list lowers;  /* RAW_OVERLAY: host paths, the lowest first */
	char *upper, *work;  /* owned; RAW_OVERLAY: host paths */
	bool is_scratch;     /* RAW_OVERLAY */
	bool is_tree;	     /* RAW_BIND: with its submounts */
	bool is_detached;    /* RAW_BIND: `fd` is a mount of raw_mounts_detach() */
	bool is_always;	     /* RAW_COVER: also where this process may not write, since
			      * another process inside may */
	bool may_be_absent;  /* RAW_BIND: a source that does not exist skips the step */
	bool follows_no_link; /* a target that is a link is an error */
	bool copies_up;	     /* RAW_MOUNT of a tmpfs: the target's files are copied into it */
	struct raw_flags flags, tree_flags; /* of the mount; of it and its submounts */
	/* MS_PRIVATE, MS_SLAVE, MS_SHARED or MS_UNBINDABLE, with MS_REC for submounts
	 * too; 0: private with submounts */
	unsigned long propagation;
	int userns;	     /* owned: the ids of the mount are mapped as in this user
			      * namespace (mount_setattr(2), MOUNT_ATTR_IDMAP); -1: not */
	bool is_tree_mapped; /* ... and those of its submounts */
	mode_t mode, parent_mode; /* of files and of missing parents; 0: 0755 */
	dev_t device;	     /* RAW_DEVICE */
	uint32_t uid, gid;   /* RAW_DEVICE: the owner */
	int refused; /* RAW_DEVICE: the errno for which the caller has not made `fd`, or
			      * RAW_NO_OWNER; 0: none */
	const char *remedy;  /* borrowed; RAW_MOUNT: where that is refused; NULL: none */
	const char *from;    /* borrowed: the words behind the step, for errors; NULL: none */
};

struct raw_plan {
	struct raw_step *steps; /* owned */
	size_t count, room;
	const char *root;  /* borrowed: the host's directory that becomes the root; NULL: an
			    * empty tmpfs does */
	unsigned long
		root_propagation; /* MS_* that the caller sets after pivot_root(2).  With
					 * MS_SHARED, binds can share mounts with the
					 * host, and pivot_into() takes `parts` */
	bool is_root_readonly; /* made so after the last step */
};

void raw_plan_init(struct raw_plan *p);
void raw_plan_done(struct raw_plan *p);

/* Adds a step.  The returned pointer is good until the next step is added. */
struct raw_step *raw_plan_add(struct raw_plan *p, enum raw_kind kind, const char *target);

/* Prints the steps in order, a line each, for --dry-run. */
void raw_plan_print(const struct raw_plan *p, FILE *to);
