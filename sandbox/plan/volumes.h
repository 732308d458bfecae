/* volumes -- plans the user's mounts, and the masks over hutch's own folders in
 * them. */
#pragma once
#include <sys/types.h>

struct err;
struct plan;
struct stat;
struct list;
struct policy;
struct volume;

/* Adds a step for each volume, parents before the folders below them.  A source
 * that is one of hutch's own folders, or lies in one, is refused; one that
 * contains them gets them masked, and every folder on the way to them pinned: a
 * mount point cannot be renamed (EBUSY), so that a process inside cannot move the mask
 * aside together with its parent and put a folder of its own there.  Protected
 * files in a writable source (protect_scan.h) are pinned in the same way, and
 * shown read-only. */
int volumes_plan(struct plan *p, const struct policy *policy, struct err *e);

/* Resolves a path of the policy: returns it without links, allocated, and in
 * *ret the file that is there; NULL with errno.  ESTALE: a link was put on the
 * way meanwhile, and is not followed. */
char *volumes_resolve(const struct policy *policy, const char *path, struct stat *ret);

/* Masks hutch's own folders in a folder that is the root.  No folder above
 * them is pinned, since writes to an image stay in the sandbox.  `path` is
 * canonical. */
int volumes_mask_image(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e);

/* For --isolation landlock, where nothing can be masked (landlock_run.h): an error if
 * `source`, which is canonical, contains one of hutch's own folders, lies in
 * one, or contains /proc or /sys.  `v` is for messages; one without `from`
 * stands for the host's own folders.  The folders that are looked up are kept
 * in two lists, empty at first, for the next call; the caller frees them. */
int volumes_check_apart(const struct volume *v, const char *source, struct list *kept,
			struct err *e);

/* Returns the home that /etc/passwd names for `uid`, allocated, or NULL.
 * Under sudo, or with HOME set to something else, $HOME is not where this
 * user's next hutch will look. */
char *volumes_home(uid_t uid);

/* Lists hutch's own folders, as they are now, and the folder of the audit log
 * `audit` (policy.h). */
void volumes_list_own(const char *audit, struct list *ret);

/* Sets the error for a source that cannot be looked at, by errno.  Returns
 * -1. */
int volumes_source_missing(const struct volume *v, struct err *e);
