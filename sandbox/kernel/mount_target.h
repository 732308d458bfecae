/* mount_target -- mount points below a root that may hold hostile links.
 *
 * Every path is resolved by the kernel inside the new root (openat2 RESOLVE_IN_ROOT |
 * RESOLVE_NO_MAGICLINKS), so that a symlink in an image or a mounted folder leads at
 * most to another place in the sandbox and never to the host (bubblewrap
 * CVE-2026-87766), while ordinary links such as /var/run -> /run keep working.  Missing
 * folders are made one component at a time, each below the descriptor of the one before.
 *
 * Most targets lie in the same folder as the target before, so the folder that was
 * looked up last is remembered.  A mount may cover that folder, or a folder on the way
 * to it: call mount_target_forget() after every mount that covers a folder. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;

struct targets {
	int root;      /* borrowed: O_PATH of the new root */
	int folder;    /* owned: the folder that was looked up last; -1: none */
	char *path;    /* owned: the path of `folder` */
	unsigned changes;   /* grows when another folder is looked up; never 0 */
	mode_t parent_mode; /* of missing folders that are made on the way; 0: 0755 */
	bool follows_no_link; /* set after targets_init() if mount_target_make() is to
			       * fail where the target itself is a link */
	bool is_roots; /* set after targets_init() if new files are to belong to root
			* inside, which has to be mapped, and not to the process that
			* makes the files */
};

void targets_init(struct targets *t, int root);
void targets_done(struct targets *t);
void mount_target_forget(struct targets *t);

/* Opens the file at `path` inside, as O_PATH; returns -1 with e set (e->sys ENOENT:
 * there is no such file). */
int mount_target_open(const struct targets *t, const char *path, struct err *e);

/* A place to attach a mount, as move_mount(2) takes it: the file `name`, which was just
 * made, below `dir`; or `dir` itself if `name` is empty.  `dir` and `name` are borrowed
 * from the targets and the path. */
struct mount_target {
	int fd; /* owned: the existing file to mount over; -1: `name` was just made */
	int dir;
	const char *name;
};

#define AUTO_TARGET __attribute__((cleanup(mount_target_done)))

void mount_target_done(struct mount_target *t);

/* Finds `path`.  Makes missing parents and, at the end, a folder with `mode`
 * or, with `is_dir` false, an empty file.  A file that exists must be of that type. */
int mount_target_make(struct targets *t, const char *path, bool is_dir, mode_t mode,
		struct mount_target *ret, struct err *e);

/* Returns the folder that holds the last component of `path`, made if missing; the
 * descriptor is borrowed from `t`.  *ret_name points at that component within `path`. */
int mount_target_parent(struct targets *t, const char *path, const char **ret_name,
		  struct err *e);

/* Makes root inside the owner of the new file `name` in `parent`, if t->is_roots. */
int mount_target_own(const struct targets *t, int parent, const char *name,
		     struct err *e);
