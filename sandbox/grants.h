/* grants -- what a command without namespaces may open.
 *
 * Where nothing can be mounted, every path is the host's, and Landlock says which may be
 * opened: what the host image shows, read-only; five devices; a few files of /proc; a
 * private folder; and what the user named.  All else is there to be looked at (stat(2))
 * and cannot be opened.
 *
 *	grants_build, grants_add_private, grants_print | landlock_confine, grants_done
 *
 * A rule of Landlock is about an inode.  The kernel makes those of /proc anew when it has
 * forgotten them, and the rule would go with it: so the descriptors stay open as long as
 * the sandbox lives. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/list.h"
#include "sandbox/landlock.h"

struct err;
struct policy;

struct grants {
	struct landlock_rule *rules; /* owned, and so is each descriptor */
	char **paths;		     /* owned; of each rule, for people */
	size_t count, room;
	char *workspace; /* owned; --workspace, canonical; NULL: none */
	struct list own[2]; /* volumes_check_apart() */
};

/* Opens everything but the private folder.  Fails on what the host has not, on a mount at
 * another path than its own, and on what would give away hutch's own folders. */
int grants_build(struct grants *g, const struct policy *policy, struct err *e);
/* The folder that was made for this sandbox. */
int grants_add_private(struct grants *g, const char *path, struct err *e);
void grants_done(struct grants *g);

/* One line each; for --dry-run. */
void grants_print(const struct grants *g, FILE *to);
