/* volumes -- plans the mounts of the user's volumes, and masks over hutch's own folders
 * in them. */
#pragma once
#include <sys/types.h>

struct err;
struct plan;
struct stat;
struct list;
struct policy;
struct volume;

/* Adds the steps for each volume, for parent folders before the folders below them.  A
 * source that is one of hutch's own folders, or lies in one, is refused.  In a source
 * that contains such folders, they are masked, and every folder on the way to them is
 * pinned, which means mounted over itself: a mount point cannot be renamed (EBUSY), so a
 * process inside cannot move the mask aside with its parent and put a folder of its own
 * there.  Protected files in a writable source (protect_scan.h) are pinned in the same
 * way, and shown read-only. */
int volumes_plan(struct plan *p, const struct policy *policy, struct err *e);

/* Resolves a path of the policy.  Returns the path without links, allocated, and
 * describes its file in *ret; NULL with errno set on failure.  ESTALE: a link was put on
 * the way meanwhile; such a link is not followed. */
char *volumes_resolve(const struct policy *policy, const char *path, struct stat *ret);

/* Shows entries, "/NAME" each, of a folder that becomes the root, writable and guarded
 * like a volume, for --image dir:PATH:rw.  The path of the folder has no links. */
int volumes_show_entries(struct plan *p, const struct policy *policy, const char *folder,
			 const struct list *names, struct err *e);

/* Masks hutch's own folders if they are below `path`, the canonical path of a folder
 * that becomes the root.  The folders above them need no pins, since writes to an image
 * stay in the sandbox. */
int volumes_mask_image(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e);

/* For --isolation landlock, where no folder can be masked (landlock_run.h): an error if
 * the canonical path `source` is, contains or lies in one of hutch's own folders, /proc
 * or /sys.  `v` is for messages; if it has no `from`, it stands for the host's own
 * folders, and /proc and /sys are not checked.  hutch's folders are looked up in the
 * first call and kept in the two lists `kept`, which are empty at first; the caller
 * frees them. */
int volumes_check_apart(const struct volume *v, const char *source, struct list *kept,
			struct err *e);

/* Returns the home folder that /etc/passwd names for `uid`, allocated, or NULL.  Under
 * sudo, or if HOME was changed, $HOME is not where the next hutch of this user will look
 * for its folders. */
char *volumes_home(uid_t uid);

/* Writes a note to `to` (base/note.h) about the first volume that shows the whole home of
 * the user: a folder that is the home, or contains it.  With a plan that has their steps no
 * volume is looked at again; NULL: there is no such plan. */
void volumes_tell_home(const struct policy *policy, const struct plan *p, int to);

/* Lists hutch's own folders, as they are now, and the folder of the audit log
 * `audit` (policy.h). */
void volumes_list_own(const char *audit, struct list *ret);

/* Sets the error for a volume whose source cannot be looked at, from errno.  Returns
 * -1. */
int volumes_source_missing(const struct volume *v, struct err *e);
