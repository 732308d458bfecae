/* What lookup.c and lookup_place.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "sandbox/plan.h"

struct found;

struct lookup {
	const struct plan *plan;
	char **targets;	    /* owned, each owned: of each step, without links; NULL: it
			     * is passed over */
	size_t done;	    /* so many steps count */
	struct list lowers; /* of the root, if it is an image */
};

/* What is at `path`, which has no links on the way; what it is in is a folder. */
void lookup_place(const struct lookup *l, const char *path, struct found *ret);

/* The last step that mounts something there: it hides what was mounted before.  A lookup
 * without targets takes those of the plan as they are written. */
size_t lookup_cover(const struct lookup *l, const char *path, bool *ret_is_read_only);
