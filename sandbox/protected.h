/* protected -- what a folder that is shown writable has of what is protected.
 *
 * No mount protects a name that is not there.  What is there when the sandbox begins is
 * shown read-only, and what leads to it can't be renamed (volumes.h).  Of a pattern that
 * may be anywhere that is what is at the top of the folder. */
#pragma once

struct err;
struct list;

/* What may be protected, or lead to it; only a "**" leads to many. */
#define PROTECTED_LOOK_MAX 65536

/* Adds each as "/NAME/NAME", below the folder `source`; none where it is a file.  ERR_REFUSED:
 * a link among them, which could be replaced whatever is mounted, or a file with other
 * names. */
int protected_list(const char *source, const struct list *patterns, struct list *ret,
		   struct err *e);
