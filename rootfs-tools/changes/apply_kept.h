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
 * All changes are judged before the first one is made (rootfs-tools/changes/apply.h):
 * unless the caller takes parts, all are made or none.  A lock lets only one process
 * apply the changes of a sandbox. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/changes/kept_changes.h"

struct err;
struct repositories;

struct apply_kept {
	struct kept_changes changes; /* owned; the caller opens it */
	/* The caller sets these. The callbacks get paths as a process inside sees
	 * them. */
	bool is_forced, is_dry, takes_protected, takes_parts;
	void (*on_done)(char kind, const char *path);
	void (*on_refused)(const char *path, const char *why);
	/* The result. */
	bool is_judging; /* the changes were judged, and are not made */
	uint64_t done, refused, left_out;
	uint64_t protected, changed; /* those of the refused changes that could be
				      * forced, or permitted */
	char *first; /* owned: the first change that was left out, and why; may be NULL */
	/* Private. */
	bool is_sweeping;
	bool was_killed; /* an earlier apply was killed, and may have left temporary
			  * files */
	int applying, record; /* owned: the lock file, and the record of applied files */
	struct repositories *broken; /* owned; the broken repositories of each folder */
	const char *target; /* the folder inside that is applied now */
};

void apply_kept_init(struct apply_kept *k);
void apply_kept_done(struct apply_kept *k);

/* Judges the changes and, unless that is all or some are refused, makes them.  0 even if
 * changes are refused; -1: it ended early, with k->done changes made.  ERR_BUSY: another
 * process applies them. */
int apply_kept_make(struct apply_kept *k, struct err *e);

/* Returns whether nothing is changed on the host. */
bool apply_kept_does_nothing(const struct apply_kept *k);

/* Removes the changes that have been applied.  A live sandbox keeps its own, since it
 * goes on from there. */
int apply_kept_settle(struct apply_kept *k, struct err *e);

/* Removes only the temporary files that a killed apply has left on the host. */
int apply_kept_sweep(struct apply_kept *k, struct err *e);
