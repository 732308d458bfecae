/* protect_scan -- finds the protected files in a folder that is shown
 * writable.  No mount protects a name that does not exist.  Files that exist
 * when the sandbox begins are shown read-only, and folders that lead to them
 * can't be renamed (volumes.h).  A pattern that may match anywhere protects
 * only its matches at the top of the folder in this way. */
#pragma once

struct err;
struct list;

/* The most entries that may be protected or lead to protected names; only a
 * "**" leads to many. */
#define PROTECT_SCAN_LOOK_MAX 65536

/* Adds each protected path as "/NAME/NAME", below the folder `source`; adds
 * none where `source` is a file.  ERR_REFUSED: a protected path is a link,
 * which could be replaced whatever is mounted, or a file with several hard
 * links. */
int protect_scan_list(const char *source, const struct list *patterns, struct list *ret,
		   struct err *e);
