/* obstacle -- what is in a folder of the host's that may not be removed with it.
 *
 * The folder is walked through descriptors and through no link (archive/trail.h).  What
 * cannot be looked at is an obstacle, too. */
#pragma once

struct stat;

/* Why something may not go, or NULL: it may.  `path` is below the folder. */
typedef const char *obstacle_why(void *who, const char *path, const struct stat *st);

/* The first one in the folder `name` of the folder `at`, as a sentence without a subject
 * ("a/b in it WHY"), allocated; NULL: there is none.  The folder itself is not asked
 * about. */
char *obstacle_find(int at, const char *name, obstacle_why *why, void *who);
