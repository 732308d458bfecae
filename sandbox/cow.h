/* cow -- where the changes are that a sandbox makes to folders shown copy-on-write.
 *
 * Below folder_path(FOLDER_DATA), or the state folder where that has no user.*
 * attributes (there as .changes), all of it 0700 and ours:
 *
 *	changes/ID/		of one sandbox, flock(2)ed while it lives
 *	    about		what it is, written before the sandbox starts
 *	    sum			when it has ended and something was changed: how much
 *	    applied, applying	of `hutch apply`
 *	    N/upper, N/work	of its N-th folder, from 0: an overlay's
 *
 * Nothing here is removed with the sandbox: that is what `hutch apply` and `hutch discard`
 * are for.  What is in the uppers was written by the inside and is walked in jails alone
 * (rootfs-tools/tell.h).
 *
 * A launch: cow_init, cow_make, ..., cow_done, which lets go of the lock.
 * Later: cow_each or cow_find, ..., cow_done. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

#define COW_ID_LEN   12
#define COW_NAME_MAX 63

/* Files of an apply: held by it, and left by one that was killed; what it has done. */
#define COW_APPLYING "applying"
#define COW_APPLIED  "applied"

struct err;
struct plan;
struct registry_entry;

struct cow_folder {
	char *source; /* owned: on the host */
	char *target; /* owned: inside */
	dev_t dev;    /* of the source */
	ino_t ino;
};

struct cow {
	char *path; /* owned: of changes/ID; NULL: none */
	int folder; /* owned: of that; holds the lock where the sandbox is ours */
	char id[COW_ID_LEN + 1]; /* made unless it is set before */
	char name[COW_NAME_MAX + 1]; /* of the sandbox, as it was made */
	bool is_generated;	     /* it had none */
	bool is_roots; /* set before it is made: it goes into the state folder, the only one
			* that root's verbs about sandboxes find (identity_become_client()) */
	int64_t started_ns;	     /* since 1970 */
	struct list protects; /* patterns (policy/protect.h); set before it is made */
	char *audit; /* owned: the folder of the audit log, what is done with the changes
		      * later is to be in; NULL: none.  Set before it is made */
	struct cow_folder *folders;  /* owned */
	size_t count;
	bool is_live;  /* found: its sandbox has not ended */
	bool is_gone;  /* it was removed */
	bool has_sum;  /* found: it has ended, and this is how much was changed: */
	uint64_t changes, bytes;
};

void cow_init(struct cow *c);
void cow_done(struct cow *c);

/* Makes folders for the plan's STEP_COWs and puts them there; nothing without such a
 * step.  A sandbox that lives again goes on with those that are kept of its id, if they
 * are of the same folders of the host's (else ERR_REFUSED).  `entry` is that of a sandbox
 * with a name, or NULL: then one is generated from `verb`.  That changes of this name are
 * kept is ERR_EXISTS. */
int cow_make(struct cow *c, struct plan *p, const struct registry_entry *entry,
	     const char *verb, struct err *e);

/* The same in `folder`, of upper.h, which is removed with the sandbox: nothing of it is
 * kept, has a name or can be found. */
int cow_make_dropped(struct plan *p, const char *folder, struct err *e);

/* All that are kept or in use, the latest first. */
struct cow_list {
	struct cow *items; /* owned */
	size_t count;
};
int cow_list(struct cow_list *ret, struct err *e);
void cow_list_done(struct cow_list *l);

/* By the sandbox's name, live or ended, or its id. */
int cow_find(const char *name, struct cow *ret, struct err *e);

/* Holds the lock, if nobody has it: ERR_BUSY where its sandbox lives or somebody else is
 * at it. */
int cow_lock(struct cow *c, struct err *e);
void cow_unlock(struct cow *c);

/* The upper of one of its folders, to be walked in a jail.  A descriptor, or -1. */
int cow_upper(const struct cow *c, size_t number, struct err *e);

/* Writes down how much was changed, when it has ended.  It is locked. */
int cow_set_sum(struct cow *c, uint64_t changes, uint64_t bytes, struct err *e);

/* Removes all of it.  It is locked, and cow_done() is still to be called. */
void cow_remove(struct cow *c);
