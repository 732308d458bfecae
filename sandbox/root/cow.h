/* cow -- keeps the changes that a sandbox makes to folders shown copy-on-write.
 *
 * The changes are kept below folder_path(FOLDER_DATA) or, if its file system has no
 * user.* attributes, in the state folder (as .changes).  All of it is 0700 and
 * hutch's own:
 *
 *	changes/ID/		changes of one sandbox, flock(2)ed while it lives
 *	    about		the sandbox and its folders, written before the start
 *	    sum			number of changes and their bytes; written at the end
 *	    applied, applying	of `hutch apply`
 *	    N/upper, N/work	of the overlay of the N-th folder, from 0
 *
 * Nothing here is removed with the sandbox: `hutch apply` and `hutch discard` do
 * that.  Processes inside have written the content of the upper folders, so only
 * jailed processes (jail.h) read it (rootfs-tools/changes/changes_stream.h).
 *
 * A launch: cow_init, cow_make, ..., cow_done, which releases the lock.  Later:
 * cow_list or cow_find, ..., cow_done. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

#define COW_ID_LEN   12
#define COW_NAME_MAX 63

/* Files of `hutch apply`: COW_APPLYING exists while an apply runs, and stays if that
 * is killed; COW_APPLIED records what it has done. */
#define COW_APPLYING "applying"
#define COW_APPLIED  "applied"

struct err;
struct plan;
struct registry_entry;

struct cow_folder {
	char *source; /* owned: path on the host */
	char *target; /* owned: path inside */
	dev_t dev;    /* device of the source */
	ino_t ino;
};

struct cow {
	char *path; /* owned: the folder changes/ID */
	int folder; /* owned: descriptor of `path`; holds the lock while a sandbox of
		     * this process uses the changes */
	char id[COW_ID_LEN + 1]; /* generated unless set before */
	char name[COW_NAME_MAX + 1]; /* the sandbox's name when the changes were made; set
				      * before cow_make(): the name that --name gave */
	bool is_generated;	     /* the user has given no name */
	bool is_roots; /* set before cow_make(): use the state folder, since commands
			* of root look for sandboxes nowhere else
			* (host_user_become_client()) */
	int64_t started_ns;	     /* when the sandbox was started, in ns since 1970 */
	struct list protects; /* patterns (policy/protect.h); set before cow_make() */
	char *audit; /* owned: folder of the audit log for what is done with the changes
		      * later; NULL: none.  Set before cow_make() */
	struct cow_folder *folders;  /* owned */
	size_t count;
	bool is_live;  /* set in found changes: the sandbox has not ended */
	bool is_gone;  /* the changes were removed */
	bool has_sum;  /* set in found changes: the sandbox has ended, and the two
			* numbers below are known */
	uint64_t changes, bytes;
};

void cow_init(struct cow *c);
void cow_done(struct cow *c);

/* Checks that neither a live or kept sandbox nor kept changes have the name. */
int cow_check_name(const char *name, struct err *e);

/* Makes an upper and a work folder for each STEP_COW of the plan and sets their paths
 * in the step; does nothing if there is no such step.  A sandbox that is started
 * again goes on with the changes that are kept under its id, if they belong to the
 * same folders of the host (else ERR_REFUSED).  `entry` is the registry entry of a
 * sandbox that has a name; if it is NULL, and no name is set, a name is generated from
 * `verb`.
 * ERR_EXISTS: changes of another sandbox of this name are kept. */
int cow_make(struct cow *c, struct plan *p, const struct registry_entry *entry,
	     const char *verb, struct err *e);

/* Makes an upper and a work folder for each STEP_COW of the plan in `folder`
 * (overlay_upper.h), which is removed with the sandbox: these changes are not kept,
 * have no name and cannot be found. */
int cow_make_dropped(struct plan *p, const char *folder, struct err *e);

/* The list of all changes that are kept or in use, the latest first. */
struct cow_list {
	struct cow *items; /* owned */
	size_t count;
};
int cow_list(struct cow_list *ret, struct err *e);
void cow_list_done(struct cow_list *l);

/* Finds changes by the sandbox's name, live or ended, or by its id. */
int cow_find(const char *name, struct cow *ret, struct err *e);

/* Locks the changes.  ERR_BUSY: the sandbox lives, or another process works on
 * them. */
int cow_lock(struct cow *c, struct err *e);
void cow_unlock(struct cow *c);

/* Opens the upper folder of the folder with this number.  Only a jail may read its
 * content (jail.h).  Returns a descriptor, or -1. */
int cow_upper(const struct cow *c, size_t number, struct err *e);

/* Writes down how much was changed, after the sandbox's end.  The changes must
 * be locked. */
int cow_set_sum(struct cow *c, uint64_t changes, uint64_t bytes, struct err *e);

/* Removes all of the changes, which must be locked; cow_done() is still to be
 * called. */
void cow_remove(struct cow *c);
