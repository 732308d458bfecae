/* apply_kept -- applies the kept changes of one sandbox in all its folders of the host.
 *
 *	struct apply_kept k;
 *
 *	apply_kept_init(&k);
 *	kept_changes_open(&k.changes, ...)
 *	k.is_dry = ...
 *	apply_kept_make(&k, e)
 *	...say what was done; then, since that removes what was applied:
 *	apply_kept_settle(&k, e)
 *	apply_kept_done(&k);
 *
 * All changes are checked before the first one is made (rootfs-tools/changes/apply.h):
 * all are made or none, unless takes_parts is set.  A lock lets only one process apply
 * the changes of a sandbox. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/changes/kept_changes.h"

struct chosen;
struct err;
struct repositories;

struct apply_kept {
	struct kept_changes changes; /* owned; the caller opens it */
	/* The caller sets these members.  The callbacks get paths as processes in the
	 * sandbox see them. */
	bool is_forced, is_dry, takes_protected, takes_parts;
	const struct chosen *chosen; /* borrowed: for each folder the chosen changes;
				      * NULL: all are applied */
	void (*on_done)(char kind, const char *path);
	void (*on_refused)(const char *path, const char *why);
	/* The result. */
	bool is_judging; /* the changes were only checked, and are not made */
	uint64_t done, refused, left_out;
	uint64_t protected, changed; /* counts of refused changes by reason: the path is
				      * protected, or was changed on the host; the user
				      * may override both */
	char *first; /* owned: the first entry that cannot be applied, and why; may be
		      * NULL */
	/* Private. */
	bool is_sweeping, is_probing, has_doubt; /* as in apply.h */
	bool was_killed; /* an earlier apply was killed, and may have left temporary
			  * files */
	int applying, record; /* owned descriptors: the lock file, and the record of
			       * applied files */
	struct repositories *broken; /* owned; for each folder the repositories with a
				      * refused change */
	const char *target; /* path in the sandbox of the folder that is applied now */
};

void apply_kept_init(struct apply_kept *k);
void apply_kept_done(struct apply_kept *k);

/* Checks the changes, and then makes them, unless is_dry is set or a refusal stops all.
 * Returns 0 even if changes are refused; -1 if the walk ended early, with k->done
 * changes made.  ERR_BUSY: another process applies them. */
int apply_kept_make(struct apply_kept *k, struct err *e);

/* Returns whether changes are only checked, and nothing is changed on the host. */
bool apply_kept_does_nothing(const struct apply_kept *k);

/* Removes the kept changes that have been applied.  The changes of a live sandbox stay,
 * since the sandbox still uses its upper layer. */
int apply_kept_settle(struct apply_kept *k, struct err *e);

/* Removes only the temporary files that a killed apply has left on the host. */
int apply_kept_sweep(struct apply_kept *k, struct err *e);
