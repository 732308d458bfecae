/* protect_missing -- decides which names must not be created in the folders that are
 * shown writable, for --protect-missing.  No mount protects a name that does not exist
 * yet.  So the broker, which creates names in place of processes inside (broker.h), asks
 * this module first, with the path on the host.  The patterns are applied in every
 * writable folder that contains the path: so a name that is protected in one folder
 * cannot be created through another that shows the same place. */
#pragma once
#include <stdbool.h>

struct plan;

struct protect_missing;

/* Makes the object that answers for the plan `p`.  The list `guarded` of the plan must
 * not be empty, and is borrowed. */
struct protect_missing *protect_missing_new(const struct plan *p);
void protect_missing_free(struct protect_missing *m);

enum making {
	MAKING_FOLDER, /* an empty folder is created */
	MAKING_FILE,   /* a file is created, or another object that is not a folder */
	MAKING_TREE    /* a folder that may have entries is created, as by a rename */
};

/* Returns whether `path` must not be created.  `path` is absolute, on the host, and
 * without links, "." and "..". */
bool protect_missing_refuses(const struct protect_missing *m, const char *path,
			     enum making what);

/* Returns the part of `path` below `folder`, with its leading "/"; "" if both
 * are the same, NULL if `path` is not below `folder`.  Both are absolute,
 * without links, "." and "..". */
const char *protect_missing_below(const char *path, const char *folder);
