/* Declarations that lookup.c and lookup_place.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "sandbox/plan/plan.h"

struct found;

struct lookup {
	const struct plan *plan;
	char **targets;	    /* owned, each owned: each step's target, without links;
			     * NULL: the step is passed over */
	size_t done;	    /* the number of steps that count */
	struct list lowers; /* layers of the root, if it is an image */
};

/* Looks at `path`, which has no links on the way and whose parent is a folder. */
void lookup_place(const struct lookup *l, const char *path, struct found *ret);

/* The last step that mounts something there, which hides earlier mounts.  A
 * lookup without targets uses those of the plan as they are written. */
size_t lookup_cover(const struct lookup *l, const char *path, bool *ret_is_read_only);
