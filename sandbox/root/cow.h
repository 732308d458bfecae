/* cow -- keeps the changes that a sandbox makes to folders shown copy-on-write.
 *
 * They are below folder_path(FOLDER_DATA), or in the state folder (as .changes)
 * where that has no user.* attributes.  All of it is 0700 and hutch's own:
 *
 *	changes/ID/		one sandbox's, flock(2)ed while the sandbox lives
 *	    about		the sandbox and its folders, written before the start
 *	    sum			how much was changed, if anything; written at the end
 *	    applied, applying	of `hutch apply`
 *	    N/upper, N/work	of the overlay of the N-th folder, from 0
 *
 * Nothing here is removed with the sandbox: `hutch apply` and `hutch discard`
 * do that.  The inside has written the contents of the uppers, so only
 * processes in jails walk them (rootfs-tools/changes/changes_stream.h).
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

/* Files of `hutch apply`: the first exists while it works, and after one that
 * was killed; the second says what it has done. */
#define COW_APPLYING "applying"
#define COW_APPLIED  "applied"

struct err;
struct plan;
struct registry_entry;

struct cow_folder {
	char *source; /* owned: on the host */
	char *target; /* owned: path on the host */
	dev_t dev;    /* owned: path inside */
	ino_t ino;
};

struct cow {
	char *path; /* device of the source */
	int folder; /* owned: descriptor of `path`; holds the lock of a sandbox of this
		     * process */
	char id[COW_ID_LEN + 1]; /* generated unless set before */
	char name[COW_NAME_MAX + 1]; /* the sandbox's name when the changes were made */
	bool is_generated;	     /* the sandbox was given no name */
	bool is_roots; /* set before cow_make(): use the state folder, the only place
			* that root's verbs about sandboxes search
			* (host_user_become_client()) */
	int64_t started_ns;	     /* when the sandbox was started, in ns since 1970 */
	struct list protects; /* patterns (policy/protect.h); set before cow_make() */
	char *audit; /* owned: folder of the audit log for what is done with the changes
		      * later; NULL: none.  Set before cow_make() */
	struct cow_folder *folders;  /* owned */
	size_t count;
	bool is_live;  /* found changes: the sandbox has not ended */
	bool is_gone;  /* the changes were removed */
	bool has_sum;  /* found changes: the sandbox has ended, having changed this
			* much: */
	uint64_t changes, bytes;
};

void cow_init(struct cow *c);
void cow_done(struct cow *c);

/* Makes folders for the plan's STEP_COWs and enters them there; does nothing
 * without such a step.  A sandbox that is started again goes on with the
 * changes that are kept of its id, if they belong to the same folders of the
 * host (else ERR_REFUSED).  `entry` is that of a sandbox with a name, or NULL:
 * then one is generated from `verb`.  ERR_EXISTS: changes of another sandbox of
 * this name are kept. */
int cow_make(struct cow *c, struct plan *p, const struct registry_entry *entry,
	     const char *verb, struct err *e);

/* Makes folders for the plan's STEP_COWs in `folder` (overlay_upper.h), which
 * is removed with the sandbox: these changes are not kept, have no name and
 * cannot be found. */
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

/* Opens the upper of one of the folders, to be walked in a jail.  Returns a
 * descriptor, or -1. */
int cow_upper(const struct cow *c, size_t number, struct err *e);

/* Writes down how much was changed, after the sandbox's end.  The changes must
 * be locked. */
int cow_set_sum(struct cow *c, uint64_t changes, uint64_t bytes, struct err *e);

/* Removes all of the changes, which must be locked; cow_done() is still to be
 * called. */
void cow_remove(struct cow *c);
