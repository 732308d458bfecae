/* Declarations that lookup.c and lookup_place.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "sandbox/plan/plan.h"

struct found;

struct lookup {
	const struct plan *plan;
	char **targets;	    /* owned, as each text is: the target of each step, without
			     * links; NULL: the step is passed over */
	size_t done;	    /* how many steps count, from the first */
	struct list lowers; /* the layers of the root, if the root is an image */
};

/* Looks up `path`, which has no links on the way and whose parent is a folder. */
void lookup_place(const struct lookup *l, const char *path, struct found *ret);

/* Returns the number of the last step that mounts something over `path` or a
 * folder above it, since a later mount hides earlier ones.  A look-up without
 * targets uses the targets as the plan has them. */
size_t lookup_cover(const struct lookup *l, const char *path, bool *ret_is_read_only);
