/* past -- the changes that sandboxes have made to folders shown copy-on-write,
 * for verbs that show, apply or discard them, and verbs that end sandboxes. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "rootfs-tools/changes/ground.h"
#include "sandbox/root/cow.h"

struct err;
struct idmaps;

struct past {
	struct cow cow;
	struct list *wanted; /* owned; for each folder of `cow` the wanted paths below
			      * it; none: all */
	bool is_partial;     /* paths were named; folders without a wanted path are
			      * skipped */
};

/* Finds the changes of the sandbox NAME.  `words` are paths inside, absolute or
 * below the first of its folders, up to a NULL; none: all.  A path that is in
 * no such folder is put into `others`, absolute; with `others` NULL it is an
 * error. */
int past_open(struct past *p, const char *name, char *const *words, struct list *others,
	      struct err *e);
void past_done(struct past *p);

/* Opens the host's folder, if it is still the same folder.  A descriptor, or -1. */
int past_source(const struct cow_folder *f, struct err *e);

/* Walks the changes of folder `number`, compared with the host's. */
int past_walk(const struct past *p, size_t number, const struct ground *g, struct err *e);

/* The same for any upper layer; `ranges`: its files belong to these mapped ids;
 * NULL: to one id. */
int past_walk_upper(int upper, const struct idmaps *ranges, const struct ground *g,
		    struct err *e);

/* Counts the changes of an ended sandbox, whose lock the caller holds.  Without
 * changes it removes the folder and returns 0; else 1. */
int past_settle(struct cow *c, struct err *e);

/* For a launch that has ended: counts the changes, and prints what is kept and
 * which verbs use it. */
void past_end(struct cow *c);

/* Counts the changes of ended sandboxes whose launch was killed or could not
 * count them. */
void past_settle_all(struct cow_list *l);
