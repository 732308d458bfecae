/* volumes -- the steps for what the user mounts, and the masks over hutch's
 * own folders in it. */
#pragma once

struct err;
struct plan;
struct policy;

/* Adds a step for each volume, parents before what lies below them.  A source
 * that is one of hutch's own folders, or lies in one, is refused; one that
 * contains them gets them masked, and every folder on the way to them pinned:
 * a mount point cannot be renamed (EBUSY), so that a guest cannot move the
 * mask aside together with its parent and put a folder of its own there.  The same for
 * what is protected in a writable one (protected.h), which is shown read-only. */
int volumes_plan(struct plan *p, const struct policy *policy, struct err *e);

/* The same for a folder that is the root: masks only, since what is written to
 * an image stays in the sandbox.  `path` is canonical. */
int volumes_mask_image(struct plan *p, const struct policy *policy, const char *path,
		       struct err *e);
