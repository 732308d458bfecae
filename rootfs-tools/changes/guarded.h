/* guarded -- which changes are refused because the path is protected.
 *
 * Protected are the paths that match the patterns (policy/protect.h).  For a
 * pattern without wildcards, which names a path from the top of the folder, the
 * targets of the host's links on that path are protected, too. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;
struct meeting;
struct protect;

struct guarded {
	struct protect *protect; /* owned; NULL: nothing is protected */
	struct list places;	 /* links and their targets, below the folder */
	struct list names;	 /* the pattern of each place */
};

/* `dir` is the host's folder; `patterns` may be NULL. */
int guarded_begin(struct guarded *g, const struct list *patterns, int dir, struct err *e);
void guarded_done(struct guarded *g);

/* Why the change is refused, as a sentence without a subject, allocated; NULL:
 * it is permitted.  For a folder to be removed, only the folder itself is
 * judged, not its entries. */
char *guarded_why(const struct guarded *g, const struct meeting *m);

/* Whether `rest`, below the folder `folder`, is protected. */
bool guarded_has(const struct guarded *g, const char *folder, const char *rest);
