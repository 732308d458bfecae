/* grants -- the files that a command without namespaces may open.
 *
 * Where nothing can be mounted, every path is the host's, and Landlock says
 * which files may be opened: those that the host image shows, read-only; five
 * devices; a few files of /proc; a private folder; and those that the user
 * named.  All others can be looked at (stat(2)), but not opened.
 *
 *	grants_build, grants_add_private, grants_print | landlock_confine, grants_done
 *
 * A rule of Landlock is about an inode.  The kernel may forget an inode of
 * /proc and make it anew, and the rule would be lost with it: so the
 * descriptors stay open as long as the sandbox lives. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/list.h"
#include "sandbox/kernel/landlock.h"

struct err;
struct policy;

struct grants {
	struct landlock_rule *rules; /* owned, and so is each descriptor */
	char **paths;		     /* owned; the path of each rule, for messages */
	size_t count, room;
	char *workspace; /* owned; --workspace, canonical; NULL: none */
	struct list own[2]; /* for volumes_check_apart() */
};

/* Opens everything but the private folder.  Fails on a path that the host does
 * not have, on a mount at another path than its own, and on one that would give
 * away hutch's own folders. */
int grants_build(struct grants *g, const struct policy *policy, struct err *e);
/* Adds the folder that was made for this sandbox. */
int grants_add_private(struct grants *g, const char *path, struct err *e);
void grants_done(struct grants *g);

/* Prints one line for each grant; for --dry-run. */
void grants_print(const struct grants *g, FILE *to);
