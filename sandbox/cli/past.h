/* past -- the changes that sandboxes have made to folders shown copy-on-write, for the
 * verbs that are about them and those that leave some. */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "rootfs-tools/ground.h"
#include "sandbox/cow.h"

struct err;
struct idmaps;

struct past {
	struct cow cow;
	struct list *wanted; /* owned; for each folder of it, paths below it; none: all */
	bool is_partial;     /* words said what; folders without any are not meant */
};

/* Finds what NAME has changed.  `words` are paths inside, absolute or below the first of
 * its folders, up to a NULL; none: all.  What is in none of them is put into `others`,
 * absolute; if that is NULL it is an error. */
int past_open(struct past *p, const char *name, char *const *words, struct list *others,
	      struct err *e);
void past_done(struct past *p);

/* The folder of the host's, as long as it is the one that it was.  A descriptor, or -1. */
int past_source(const struct cow_folder *f, struct err *e);

/* Walks the changes of its folder `number` against the host's. */
int past_walk(const struct past *p, size_t number, const struct ground *g, struct err *e);

/* The same of any upper layer; `ranges`: of one whose files belong to ids of these, or NULL. */
int past_walk_upper(int upper, const struct idmaps *ranges, const struct ground *g,
		    struct err *e);

/* Of one that has ended, and is locked: looks how much was changed.  Nothing: removes it
 * and returns 0; else 1. */
int past_settle(struct cow *c, struct err *e);

/* For a launch that has ended: settles, and says on stderr what is kept and how to get
 * at it. */
void past_end(struct cow *c);

/* Settles what nobody has, since its launch was killed or could not. */
void past_settle_all(struct cow_list *l);
