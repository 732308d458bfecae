/* missing -- which names must not come into being in the folders that are shown writable,
 * for --protect-missing.
 *
 * No mount protects a name that is not there.  So what makes names for the inside asks here
 * (deputy.h), by the path on the host.  Each folder that is shown writable has its say about
 * it: one that is shown twice, or lies in another, has no open side. */
#pragma once
#include <stdbool.h>

struct plan;

struct missing;

/* Of a plan with something `guarded`, from which it borrows. */
struct missing *missing_new(const struct plan *p);
void missing_free(struct missing *m);

enum making {
	MAKING_FOLDER, /* an empty one */
	MAKING_FILE,   /* or anything else that is no folder */
	MAKING_TREE    /* a folder that may have something in it */
};

/* `path` is absolute, on the host, and without links, "." and "..". */
bool missing_refuses(const struct missing *m, const char *path, enum making what);

/* What of `path` is below `folder`, both like that: with its "/", or "" for itself; NULL:
 * it is not. */
const char *missing_below(const char *path, const char *folder);
