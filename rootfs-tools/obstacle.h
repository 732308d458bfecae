/* obstacle -- what is in a folder of the host's that may not be removed with it.
 *
 * The folder is walked through descriptors and through no link (archive/trail.h).  A name
 * that cannot be looked at is an obstacle, too, and so is one that the kernel would not let us
 * remove. */
#pragma once

struct stat;

/* Why something may not go, or NULL: it may.  `path` is below the folder. */
typedef const char *obstacle_why(void *who, const char *path, const struct stat *st);

/* Why what is in a folder, which `folder` refers to, cannot be removed: it is another user's, and
 * closed to us.  NULL: it can, or its owner is us, who may open it. */
const char *obstacle_rights(int folder, const struct stat *st);

/* Why what another user has in the folder cannot be removed or replaced, though the folder is
 * open (unlink(2), EPERM); NULL: it can. */
const char *obstacle_sticky(const struct stat *folder);

/* Why `name` of the folder can be neither removed nor replaced by anybody; ""; why nothing in
 * the folder can. */
const char *obstacle_fixed(int at, const char *name);

/* The first one in the folder `name` of the folder `at`, as a sentence without a subject
 * ("a/b in it WHY"), allocated; NULL: there is none.  The folder itself is not asked
 * about. */
char *obstacle_find(int at, const char *name, obstacle_why *why, void *who);
