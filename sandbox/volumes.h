/* volumes -- the steps for what the user mounts, and the masks over hutch's
 * own folders in it. */
#pragma once
#include <sys/types.h>

struct err;
struct plan;
struct stat;
struct list;
struct policy;
struct volume;

/* Adds a step for each volume, parents before what lies below them.  A source
 * that is one of hutch's own folders, or lies in one, is refused; one that
 * contains them gets them masked, and every folder on the way to them pinned:
 * a mount point cannot be renamed (EBUSY), so that a guest cannot move the
 * mask aside together with its parent and put a folder of its own there.  The same for
 * what is protected in a writable one (protected.h), which is shown read-only. */
int volumes_plan(struct plan *p, const struct policy *policy, struct err *e);

/* Where a path of the policy's leads, without links, allocated, and what is there; NULL with
 * errno.  No link is followed that was put on the way meanwhile: ESTALE. */
char *volumes_resolve(const struct policy *policy, const char *path, struct stat *ret);

/* The same for a folder that is the root: masks only, since what is written to
 * an image stays in the sandbox.  `path` is canonical. */
int volumes_mask_image(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e);

/* For where nothing can be masked (rung.h): an error if `source`, which is canonical, has
 * one of hutch's own folders in it or is in one, or has /proc or /sys in it.  `v` is for
 * words; one without `from` is of the host's own folders.  What is looked up for that is
 * kept in two lists, empty at first, for the next call; the caller frees them. */
int volumes_check_apart(const struct volume *v, const char *source, struct list *kept,
			struct err *e);

/* The home that /etc/passwd names, allocated, or NULL: under sudo, or with HOME
 * set to something else, $HOME is not where this user's next hutch will look. */
char *volumes_home(uid_t uid);

/* Adds hutch's own folders, as they are now, with the audit log of `audit` (policy.h). */
void volumes_list_own(const char *audit, struct list *ret);

/* The error of a source that cannot be looked at, by errno.  Returns -1. */
int volumes_source_missing(const struct volume *v, struct err *e);
