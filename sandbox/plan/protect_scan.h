/* protect_scan -- finds the protected files in a folder that is shown writable.
 * Protected files that exist when the sandbox begins are shown read-only, and folders on
 * the way to them can't be renamed (volumes.h).  No mount protects a name that does not
 * exist.  A pattern that may begin in any folder, such as ".git/hooks", protects in this
 * way only the files to which it leads from the top of the shown folder. */
#pragma once

struct err;
struct list;

/* The most entries that may be protected or lead to protected names; only a pattern with
 * "**" leads to that many. */
#define PROTECT_SCAN_LOOK_MAX 65536

/* Adds each protected path below the folder `source` to `ret`, as "/NAME/NAME"; adds
 * none if `source` is a file.  ERR_REFUSED: a protected path is a link, which a process
 * inside could replace in spite of any mount, or a file with several hard links. */
int protect_scan_list(const char *source, const struct list *patterns, struct list *ret,
		   struct err *e);
