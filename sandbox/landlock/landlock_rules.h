/* landlock_rules -- the files that a command without namespaces may open.
 *
 * Where nothing can be mounted, every path is the host's, and Landlock says which
 * files may be opened: those that `--image host` shows, read-only; five devices;
 * a few files of /proc; a private folder; and those that the user named.  All
 * others can be looked at (stat(2)), but not opened.
 *
 *	landlock_rules_build, landlock_rules_add_private, landlock_rules_print | landlock_confine, landlock_rules_done
 *
 * A Landlock rule belongs to an inode.  The kernel may drop an inode of /proc
 * from memory, and the rule with it, and make a new inode later: so the
 * descriptors stay open, and keep the inodes, as long as the sandbox lives. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/list.h"
#include "sandbox/kernel/landlock.h"

struct err;
struct policy;

struct landlock_rules {
	struct landlock_rule *rules; /* owned, and so is each descriptor */
	char **paths;		     /* owned; the path of each rule, for messages */
	size_t count, room;
	char *workspace; /* owned; --workspace, canonical; NULL: none */
	struct list own[2]; /* hutch's own folders, which volumes_check_apart() keeps
			     * out of the grants */
};

/* Opens every granted file, except the private folder.  Fails on a path that the
 * host does not have, on a mount at another path than its own, and on a mount that
 * would give away hutch's own folders. */
int landlock_rules_build(struct landlock_rules *g, const struct policy *policy,
			 struct err *e);
/* Grants the right to read and write the private folder that was made for this
 * sandbox. */
int landlock_rules_add_private(struct landlock_rules *g, const char *path, struct err *e);
void landlock_rules_done(struct landlock_rules *g);

/* Prints one line for each grant; for --dry-run. */
void landlock_rules_print(const struct landlock_rules *g, FILE *to);
