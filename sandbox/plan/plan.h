/* plan -- everything that a launch will do, as data.
 *
 * A policy says what is wanted; plan_build() looks at the host once and writes
 * down the steps in the order in which they will be done.  A plan can be
 * printed (`hutch run --dry-run`), checked and unit-tested with no privilege;
 * spawn then executes it in order and decides nothing more.
 *
 *	plan_init, plan_build, (plan_print | spawn), plan_done
 *
 * Targets are paths below the new root.  Sources are absolute paths of the
 * host together with the device and inode that the host side saw: the child
 * opens them again by path in its own mount namespace and a difference fails,
 * since an unprivileged open_tree(OPEN_TREE_CLONE) of a descriptor that was
 * opened before the clone is EPERM. */
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

struct err;
struct host_user;
struct policy;
struct stat;
struct store_image;

enum step_kind {
	STEP_ROOT,     /* makes a tmpfs, which is the root itself; data: its size */
	STEP_OVERLAY,  /* a folder for the files that hutch adds to an image; data: tmpfs
			* size */
	STEP_MERGE,    /* the overlay of that folder and the image becomes the root */
	STEP_DIR,      /* makes a directory with `mode` */
	STEP_SYMLINK,  /* makes a link; data: the link's target */
	STEP_FILE,     /* makes a file; data: the file's content */
	STEP_BIND,     /* shows the source with its submounts, with `attr` */
	STEP_COW,      /* mounts an overlay: the source below, `upper` above */
	STEP_SCRATCH,  /* directory of the root tmpfs, writable after the seal */
	STEP_TMPFS,    /* data: its size, "" for the default */
	STEP_PROC,     /* mounts a procfs of the new pid namespace */
	STEP_DEVPTS,   /* mounts a devpts instance of the sandbox's own */
	STEP_MASK,     /* file or directory that no process inside may open; skipped if
			* absent */
	STEP_READONLY, /* makes the target read-only by a mount over itself */
	STEP_CGROUP,   /* shows the commands' cgroup; does nothing without a source */
	STEP_LOGS,     /* mounts a tmpfs that the executor writes and the inside may
			* read; data: its size */
	STEP_SEAL,     /* the root's own mount becomes read-only */
	STEP_KIND_COUNT
};

struct step {
	enum step_kind kind;
	char *source, *target, *data; /* owned; NULL where the kind has none */
	uint64_t attr;		      /* MOUNT_ATTR_* of mount_setattr(2) */
	mode_t mode;
	dev_t dev; /* the device of the source, as the host side saw it */
	ino_t ino;
	bool is_dir;	   /* the source is a directory */
	bool is_watched;   /* the protection watch notices when the host replaces the source
			    * (protect_watch.h) */
	const struct list *lowers; /* STEP_OVERLAY, in place of a source: paths, the
				    * lowest first; borrowed */
	const char *upper; /* STEP_OVERLAY, STEP_COW: a folder for the upper layer,
			    * borrowed; NULL: a tmpfs */
	dev_t upper_dev;   /* STEP_OVERLAY, neither copied nor served: device of the
			    * upper, as it was locked */
	ino_t upper_ino;
	bool is_roots;	   /* STEP_OVERLAY: files made in it belong to root inside */
	uint32_t uid, gid; /* STEP_DIR below a root with `is_roots`: the owner of the
			    * directory, if the step makes it */
	bool is_copied;	   /* STEP_OVERLAY: the folder "upper" in `upper` is a copy of the
			    * image, and the root (root_copy.h) */
	bool is_served;	   /* STEP_OVERLAY: fuse-overlayfs serves the root (root_fuse.h) */
	const char *from;  /* the option as the caller wrote it; borrowed from the
			    * policy */
};

#define PLAN_MAX_SYSCTLS 4
#define EXECUTOR_ID	 IDMAP_ABOVE /* the executor's id inside, with --idmap ranges:
				      * no other process has this id */

struct plan {
	struct step *steps;
	size_t count, room;

	bool is_dry_run; /* set before plan_build: hutch's own folders, which mounts mask,
			  * are not made */
	bool has_logs; /* set before plan_build: STEP_LOGS */
	const struct store_image *store_image; /* set before plan_build, borrowed: the
						* image of the store; NULL: the root is
						* not an image of the store */
	uint64_t namespaces; /* CLONE_NEW* */
	struct idmaps ids;
	bool has_ranges;      /* maps are written by newuidmap */
	bool has_landlock_root; /* Landlock: no file outside of the root can be opened
			       * (landlock_root.h) */
	bool hides_abstract;  /* shared network: Landlock scopes abstract sockets */
	bool refuses_unix;    /* shared network, no Landlock ABI 6: no AF_UNIX */

	bool pretends;	      /* one id, an image, root inside: calls that change owners
			       * and ids report success (policy/seccomp/pretend.json) */

	uint32_t uid, gid;    /* the ids of the command, inside */
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
	const struct list *protects; /* patterns; borrowed from the policy */
	struct list guarded; /* folders of the host that are shown writable, in which
			      * protected names must not be made (protect_missing.h) */
	struct list absent; /* protected names that do not exist, as far as the
			     * protection watch can notice that one is made
			     * (protect_watch.h) */
};

void plan_init(struct plan *p);
void plan_done(struct plan *p);

/* Looks at the host and writes the steps down.  Fails if the host lacks
 * something that the policy names (ERR_NOT_FOUND), or if a mount would expose
 * hutch's own folders. */
int plan_build(struct plan *p, const struct policy *policy, const struct host_user *who,
	       struct err *e);

/* Plans what --idmap ranges asks for: the maps, out of /etc/subuid and
 * /etc/subgid, found by the user's number and by the user's name in
 * passwd(5). */
int plan_ranges(struct plan *p, const struct host_user *who, struct err *e);

/* Adds a zeroed step to the plan.  The returned pointer is good until the next
 * step is added. */
struct step *plan_add(struct plan *p, enum step_kind kind, const char *target);

/* Returns whether a separate process, the broker, makes names for the inside
 * (broker.h). */
static inline bool plan_has_broker(const struct plan *p)
{
	return p->guarded.count > 0;
}

/* plan_has_overlay() returns whether the root is an overlay.  The setters take
 * the folder on disk that was made for what is written over the root
 * (overlay_upper.h). */
bool plan_has_overlay(const struct plan *p);
void plan_set_upper(struct plan *p, const char *path, const struct stat *st);
void plan_set_copy(struct plan *p, const char *path);
void plan_set_served(struct plan *p, const char *path);

/* Returns the capabilities that the executor itself must hold: those that it
 * hands on to commands and, with ranges, those that it needs to become other
 * ids and to signal them. */
uint64_t plan_executor_caps(const struct plan *p);

/* Prints the plan for --dry-run, one line for each step, in order. */
void plan_print(const struct plan *p, const struct policy *policy, FILE *to);
