/* kept_changes -- the changes that sandboxes have made to folders shown copy-on-write,
 * for verbs that show, apply or discard them, and verbs that end sandboxes. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "rootfs-tools/changes/changes_walk.h"
#include "sandbox/root/cow.h"

struct err;
struct idmaps;

struct kept_changes {
	struct cow cow;
	struct list *wanted; /* owned; for each folder of `cow` the wanted paths in it; an
			      * empty list: all paths */
	bool is_partial;     /* the user has named paths; folders without a wanted path
			      * are skipped */
};

/* Gives the id of the changes that are kept of the current folder or a folder above it.
 * An error: there are none, or there are several, which it names. */
int kept_changes_here(char ret_id[COW_ID_LEN + 1], struct err *e);

/* Finds the kept changes of the sandbox NAME; NULL: those of the current folder, as
 * kept_changes_here() does.  `words` are the wanted paths, ended by
 * NULL: absolute as seen in the sandbox, or relative to the sandbox's first folder.  No
 * words: all paths.  A path that is in no folder of the sandbox is put into `others`,
 * absolute; with `others` NULL it is an error. */
int kept_changes_open(struct kept_changes *p, const char *name, char *const *words,
		      struct list *others, struct err *e);
void kept_changes_done(struct kept_changes *p);

/* Opens the host's folder, if it is still the same folder as at the launch.  Returns a
 * descriptor, or -1. */
int kept_changes_source(const struct cow_folder *f, struct err *e);

/* Walks the changes of the folder `number`, compared with the host's folder. */
int kept_changes_walk(const struct kept_changes *p, size_t number,
		      const struct changes_walk *g, struct err *e);

/* Walks the changes of any upper layer.  `ranges`: the mapped ids that its files belong
 * to; NULL: only one id is mapped. */
int kept_changes_walk_upper(int upper, const struct idmaps *ranges,
			    const struct changes_walk *g, struct err *e);

/* Counts the wanted changes.  Entries that cannot be compared are not counted. */
int kept_changes_count(const struct kept_changes *p, uint64_t *ret, struct err *e);

/* Counts the changes of an ended sandbox, whose lock the caller holds.  Returns 1 if
 * changes are kept; without changes it removes the folder of kept changes and returns
 * 0. */
int kept_changes_settle(struct cow *c, struct err *e);

/* Called when a launch has ended: counts the changes, and prints which are kept and
 * which verbs use them. */
void kept_changes_end(struct cow *c);

/* Lists all changes that are kept or in use, the latest first.  Counts those of ended
 * sandboxes whose launch was killed or could not count them. */
int kept_changes_list(struct cow_list *ret, struct err *e);

/* Returns the time of the sandbox's start, such as 2026-01-01T12:00:00Z, allocated. */
char *kept_changes_started(const struct cow *c);
