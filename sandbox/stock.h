/* stock -- an image of the store, as a launch needs it: found, held, and what its
 * configuration and the caller together say is to be run.
 *
 *	stock_init, stock_open, ... as long as the sandbox lives ..., stock_done
 *
 * What is not in the store is fetched first by a program of its own (hutch-image), whose
 * words reach the caller's stderr.  The configuration came from strangers: its texts are
 * bounded and checked (store/recipe.h), and the image's files are looked at only as
 * lowers.h and accounts.h do.
 *
 * With ranges the sandbox has copies of the layers, whose files belong to whom they belonged
 * in the image (rootfs-tools/ranged.h), made when the first one needs them: stock_name_ranged()
 * says where they are, stock_make_ranged() sees to it that they are there.  What is looked at
 * before is the layers themselves, which the caller can read.
 *
 * Docker's rules: -u replaces User, -w WorkingDir, words behind the flags replace Cmd, and
 * are put behind Entrypoint; --entrypoint replaces that, and drops Cmd.  A user without a
 * group has that of /etc/passwd, or 0. */
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
	struct digest image; /* its manifest's */
	bool was_root;	    /* set before stock_open(): the environment is root's */
	int lock;	    /* owned: as long as it is open the image stays */
	char *name;	    /* owned: as short as it can be said */
	struct list lowers; /* paths of its layers, the lowest one first */
	struct list ranged; /* of their copies; empty without ranges */
	char *store;	    /* owned: its path */
	struct list argv;   /* empty where the caller wants no command */
	uint32_t uid, gid;
	char *user, *home, *workdir; /* owned; workdir NULL: nobody says */
};

void stock_init(struct stock *s);
void stock_done(struct stock *s);

/* As whom the inside stands for.  With `is_dry_run` nothing is fetched. */
int stock_open(struct stock *s, const struct policy *p, bool is_dry_run, struct err *e);

void stock_name_ranged(struct stock *s, const struct idmaps *maps);
/* A program of its own makes what is missing, and says on `words`, a descriptor, if that is
 * much.  Signals: image_tool.h. */
int stock_make_ranged(const struct stock *s, const struct idmaps *maps, int words,
		      struct err *e);
