/* plan -- everything that a launch will do, as data.
 *
 * A policy says what is wanted; plan_build() looks at the host once and writes down the
 * steps in the order in which they will be done.  A plan can be printed (`hutch run
 * --dry-run`), checked and unit-tested without privilege; spawn.c then executes the
 * steps in order and decides nothing more.
 *
 *	plan_init, plan_build, (plan_print | spawn), plan_done
 *
 * Targets are paths below the new root.  Sources are absolute paths of the host, with
 * the device and inode that plan_build() found there.  The child opens each source again
 * by its path, and fails if device or inode differ.  It cannot use a descriptor from the
 * parent: an unprivileged open_tree(OPEN_TREE_CLONE) of a descriptor that was opened
 * before the new mount namespace gives EPERM. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/list.h"
#include "protocol/message.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/plan/image_user.h"

struct err;
struct host_user;
struct policy;
struct stat;
struct store_image;

enum step_kind {
	STEP_ROOT,     /* makes a tmpfs, which becomes the root; data: its size */
	STEP_OVERLAY,  /* makes a folder for the files that hutch adds to an image, on a
			* tmpfs; data: the size of that tmpfs */
	STEP_MERGE,    /* mounts an overlay of the image and of the folder of
			* STEP_OVERLAY, which becomes the root */
	STEP_DIR,      /* makes a directory with `mode` */
	STEP_SYMLINK,  /* makes a link; data: the link's target */
	STEP_FILE,     /* makes a file; data: the file's content */
	STEP_BIND,     /* shows the source, with its submounts, at the target; attr: the
			* mount's flags */
	STEP_COW,      /* mounts an overlay: the source is the lower layer, `upper` the
			* upper one */
	STEP_SCRATCH,  /* makes a directory of the root's tmpfs that stays writable after
			* STEP_SEAL */
	STEP_TMPFS,    /* mounts a tmpfs; data: its size, "" for the default */
	STEP_PROC,     /* mounts a procfs of the new pid namespace */
	STEP_DEVPTS,   /* mounts a devpts instance of the sandbox's own */
	STEP_MASK,     /* hides a file or directory so that no process inside can open
			* it; skipped if the target does not exist */
	STEP_READONLY, /* makes the target read-only, by mounting it over itself */
	STEP_CGROUP,   /* shows the commands' cgroup; does nothing without a source */
	STEP_LOGS,     /* mounts a tmpfs that the executor writes and commands may only
			* read; data: its size */
	STEP_SEAL,     /* makes the root's own mount read-only */
	STEP_KIND_COUNT
};

struct step {
	enum step_kind kind;
	char *source, *target, *data; /* owned; NULL: the kind of step has none */
	uint64_t attr;		      /* MOUNT_ATTR_* of mount_setattr(2) */
	mode_t mode;
	dev_t dev; /* device of the source, as plan_build() found it */
	ino_t ino;
	/* STEP_BIND of a path of the host image: its size, the time of its last change
	 * (CLOCK_REALTIME), and whether every user may read it and a later change would
	 * have another time */
	off_t size;
	int64_t changed_ns;
	bool is_public;
	bool is_dir;	   /* the source is a directory */
	bool is_own;	   /* STEP_FILE: the content differs from sandbox to sandbox */
	/* the target is an empty file or folder of a prepared folder (etc_folder.h), to
	 * be mounted over; STEP_FILE is then a file of the root's tmpfs, mounted there */
	bool is_placed;
	/* the source is a prepared folder; it and the STEP_BINDs that follow and are placed
	 * get the flags of this step together */
	bool is_prepared;
	/* the protection watch notices when the host replaces the source
	 * (protect_watch.h) */
	bool is_watched;
	const struct list *lowers; /* STEP_OVERLAY, instead of a source: paths of the
				    * layers, the lowest first; borrowed */
	const char *upper; /* STEP_OVERLAY, STEP_COW: the folder for the overlay's upper
			    * layer, borrowed; NULL: a tmpfs */
	/* STEP_OVERLAY, if neither is_copied nor is_served: device of the upper folder
	 * when it was locked */
	dev_t upper_dev;
	ino_t upper_ino;
	bool is_roots;	   /* STEP_OVERLAY: files that are made in it belong to root
			    * inside */
	uint32_t uid, gid; /* STEP_DIR, if the root has `is_roots`: the owner of the
			    * directory, if the step makes it */
	/* STEP_OVERLAY, if there is no overlayfs: the folder "upper" in `upper` is a
	 * copy of the image, and becomes the root (root_copy.h) */
	bool is_copied;
	/* STEP_OVERLAY, if there is no overlayfs: fuse-overlayfs serves the root
	 * (root_fuse.h) */
	bool is_served;
	const char *from;  /* borrowed from the policy: the option behind this step, as
			    * the caller wrote it */
};

#define PLAN_MAX_SYSCTLS 11
#define PLAN_HOSTNAME	 "hutch" /* unless the caller names another */
/* with --idmap ranges: the executor's id inside; no other process has it */
#define EXECUTOR_ID	 IDMAP_ABOVE

struct plan {
	struct step *steps;
	size_t count, room;

	/* set before plan_build(): nothing is created on the host, not even folders of
	 * hutch's own that mounts are to mask */
	bool is_dry_run;
	bool has_logs; /* set before plan_build(): the plan gets STEP_LOGS */
	/* set before plan_build(), borrowed: the image from the image store; NULL: the
	 * root is no such image */
	const struct store_image *store_image;
	struct image_user
		dir_user;    /* owned: the user of -u in a folder of the host, and one
				     * that is added to the host's files */
	uint64_t namespaces; /* CLONE_NEW* */
	struct idmaps ids;
	bool has_ranges;      /* --idmap ranges: newuidmap and newgidmap write the id
			       * maps */
	bool has_landlock_root; /* Landlock lets processes inside open only files below
				 * the root (landlock_root.h) */
	bool nests; /* --nesting: commands may make namespaces (sandbox/kernel/seccomp.h) */
	bool hides_abstract;	/* shared network: Landlock hides the abstract sockets of
			       * others */
	bool refuses_unix;	/* shared network, Landlock older than ABI 6: AF_UNIX is
			       * refused */

	/* root inside an image, with a single mapped id: system calls that change owners
	 * and ids report success without an effect (policy/seccomp/pretend.json) */
	bool pretends;

	uint32_t uid, gid;    /* the command's user and group id, inside */
	uint64_t caps;	      /* the capabilities of commands that run as the sandbox's
			       * user */
	uint64_t root_caps;   /* the capabilities of commands that run as root; equal
			       * to `caps` if one id is mapped */
	uint64_t other_caps;  /* the capabilities of commands that run as other users:
			       * a subset of `root_caps` */
	struct sysctl sysctls[PLAN_MAX_SYSCTLS];
	size_t sysctl_count;
	struct exec_rlimit rlimits[EXEC_MAX_RLIMITS];
	uint32_t rlimit_count;

	char *hostname, *workdir; /* owned */
	struct list env, argv;

	/* Members for --protect-missing: */
	const struct list *protects; /* borrowed from the policy: the protected patterns
				      * (protect.h) */
	struct list guarded; /* folders of the host that are shown writable, in which
			      * protected names must not be made (protect_missing.h) */
	struct list absent; /* protected names that do not exist on the host, and whose
			     * creation the protection watch can notice
			     * (protect_watch.h) */
};

void plan_init(struct plan *p);
void plan_done(struct plan *p);

/* Looks at the host and writes the steps down.  Fails if the host lacks
 * something that the policy names (ERR_NOT_FOUND), or if a mount would expose
 * hutch's own folders. */
int plan_build(struct plan *p, const struct policy *policy, const struct host_user *user,
	       struct err *e);

/* Plans the id maps for --idmap ranges, from the entries of /etc/subuid and /etc/subgid
 * for the user's number or for the user's name in passwd(5). */
int plan_ranges(struct plan *p, const struct host_user *user, struct err *e);

/* Makes room for so many steps at once. */
void plan_make_room(struct plan *p, size_t more);

/* Adds a zeroed step to the plan.  The returned pointer is good until the next
 * step is added. */
struct step *plan_add(struct plan *p, enum step_kind kind, const char *target);

/* Returns whether the sandbox has a broker, a separate process that creates file names
 * in place of processes inside (broker.h). */
static inline bool plan_has_broker(const struct plan *p)
{
	return p->guarded.count > 0;
}

/* plan_has_overlay() returns whether the root is an overlay.  The three setters give the
 * plan the folder on disk for the files that are written over the image
 * (overlay_upper.h): as an overlay's upper layer, for a root that is a copy of the
 * image, or for one that fuse-overlayfs serves. */
bool plan_has_overlay(const struct plan *p);
void plan_set_upper(struct plan *p, const char *path, const struct stat *st);
void plan_set_copy(struct plan *p, const char *path);
void plan_set_served(struct plan *p, const char *path);

/* Returns the capabilities that the executor must hold: those of commands, which it
 * passes on, and, with --idmap ranges, those that it needs to change to commands' ids
 * and to signal commands. */
uint64_t plan_executor_caps(const struct plan *p);

/* Prints the plan for --dry-run, one line for each step, in order. */
void plan_print(const struct plan *p, const struct policy *policy, FILE *to);
