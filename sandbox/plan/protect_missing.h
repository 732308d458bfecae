/* protect_missing -- decides which names must not be created in the folders
 * that are shown writable, for --protect-missing.  No mount protects a name
 * that does not exist yet.  So the code that creates names for the inside
 * (broker.h) asks this module first, by the path on the host.  Every writable
 * folder that contains the path is consulted, so a folder that is shown twice,
 * or that lies in another, has no open side. */
#pragma once
#include <stdbool.h>

struct plan;

struct protect_missing;

/* Makes the object that answers for a plan.  The plan's `guarded` list must
 * not be empty, and is borrowed. */
struct protect_missing *protect_missing_new(const struct plan *p);
void protect_missing_free(struct protect_missing *m);

enum making {
	MAKING_FOLDER, /* an empty folder is made */
	MAKING_FILE,   /* a file is made, or anything else that is not a folder */
	MAKING_TREE    /* a folder is made that may have entries, as by a rename */
};

/* Returns whether `path` must not be made.  `path` is absolute, on the host,
 * and without links, "." and "..". */
bool protect_missing_refuses(const struct protect_missing *m, const char *path,
			     enum making what);

/* Returns the part of `path` below `folder`, with its leading "/"; "" if both
 * are the same, NULL if `path` is not below `folder`.  Both are absolute,
 * without links, "." and "..". */
const char *protect_missing_below(const char *path, const char *folder);
