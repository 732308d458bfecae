/* chosen -- the changes in one folder that the user has chosen to apply.
 *
 *	chosen_add ..., chosen_end, then chosen_has ..., chosen_done
 *
 * A path stands for itself alone, and not for what is below it.  The folder of a git
 * repository stands for all that is in it (rootfs-tools/changes/repository.h).  The
 * zero object is empty. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct chosen {
	struct list paths; /* owned; below the folder; sorted by chosen_end() */
};

void chosen_add(struct chosen *c, const char *path);
/* Called when all paths are added. */
void chosen_end(struct chosen *c);
void chosen_done(struct chosen *c);

/* Returns whether the path, or the repository that it is in, was chosen. */
bool chosen_has(const struct chosen *c, const char *path);
/* Returns whether a chosen path is below the folder. */
bool chosen_is_above(const struct chosen *c, const char *folder);
