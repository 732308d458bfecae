/* apply_protect -- which changes are refused because the path is protected.
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

struct apply_protect {
	struct protect *protect; /* owned; NULL: nothing is protected */
	struct list places;	 /* links and their targets, below the folder */
	struct list names;	 /* for each place, the pattern that protects it */
};

/* Finds the protected places.  `dir` is the host's folder; `patterns` may be NULL. */
int apply_protect_begin(struct apply_protect *g, const struct list *patterns, int dir,
			struct err *e);
void apply_protect_done(struct apply_protect *g);

/* Returns why the change is refused, as a sentence without its subject, allocated;
 * NULL: the change is permitted.  If a folder is to be removed, its entries are not
 * checked here. */
char *apply_protect_why(const struct apply_protect *g, const struct meeting *m);

/* Returns whether the path `rest` in the folder `folder` is protected. */
bool apply_protect_has(const struct apply_protect *g, const char *folder,
		       const char *rest);
