/* stock -- an image of the store, as a launch needs it: found, kept from
 * removal, and with the command that its configuration and the caller together
 * name.
 *
 *	stock_init, stock_open, ... as long as the sandbox lives ..., stock_done
 *
 * An image that is not in the store is fetched first by a program of its own
 * (hutch-image), whose messages reach the caller's stderr.  The configuration
 * came from strangers: its texts are bounded and checked (store/recipe.h), and
 * the image's files are looked at only as lowers.h and accounts.h do.
 *
 * With ranges the sandbox uses copies of the layers, in which each file belongs
 * to the id that it had in the image (rootfs-tools/layers/ranged.h).  They are made
 * when the first sandbox needs them: stock_name_ranged() says where they are,
 * stock_make_ranged() makes those that are missing.  Files are looked up in the
 * layers themselves, which the caller can read.
 *
 * Docker's rules: -u replaces User, -w WorkingDir.  Words behind the flags
 * replace Cmd, and are put behind Entrypoint; --entrypoint replaces that, and
 * drops Cmd.  A user without a group has that of /etc/passwd, or 0. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "store/recipe.h"

struct err;
struct idmaps;
struct policy;

struct stock {
	struct recipe recipe;
	struct digest image; /* the digest of its manifest */
	bool was_root;	    /* set before stock_open(): the environment is root's */
	int lock;	    /* owned: the image stays in the store as long as this is
			     * open */
	char *name;	    /* owned: in its shortest form */
	struct list lowers; /* paths of its layers, the lowest one first */
	struct list ranged; /* paths of their copies; empty without ranges */
	char *store;	    /* owned: the store's path */
	struct list argv;   /* empty where the caller wants no command */
	uint32_t uid, gid;
	char *user, *home, *workdir; /* owned; workdir NULL: none is named */
};

void stock_init(struct stock *s);
void stock_done(struct stock *s);

/* Called as the user that the inside stands for.  With `is_dry_run` nothing is
 * fetched. */
int stock_open(struct stock *s, const struct policy *p, bool is_dry_run, struct err *e);

void stock_name_ranged(struct stock *s, const struct idmaps *maps);
/* Has a program of its own make the missing copies; it writes to the descriptor
 * `words` if that is much work.  Signals: image_tool.h. */
int stock_make_ranged(const struct stock *s, const struct idmaps *maps, int words,
		      struct err *e);
