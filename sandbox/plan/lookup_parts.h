/* Declarations that lookup.c and lookup_place.c share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "sandbox/plan/plan.h"

struct found;

struct lookup {
	const struct plan *plan;
	/* owned, as is each text: the target of each step, with links resolved; NULL:
	 * this step is skipped */
	char **targets;
	size_t done;	    /* only the first `done` steps count */
	struct list lowers; /* the layers of the root, if the root is an image */
};

/* Looks up `path`, none of whose components but the last is a link, and whose parent is
 * a folder. */
void lookup_place(const struct lookup *l, const char *path, struct found *ret);

/* Returns the index of the last step that mounts over `path` or over a folder above it,
 * since a later mount hides earlier ones.  If the look-up has no resolved targets, the
 * targets of the plan are used as they are. */
size_t lookup_cover(const struct lookup *l, const char *path, bool *ret_is_read_only);
