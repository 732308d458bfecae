/* store_image -- an image of the store, as a launch needs it: found, kept from
 * removal, and with the command that its configuration and the caller together
 * name.
 *
 *	store_image_init, store_image_open, ... as long as the sandbox lives ..., store_image_done
 *
 * An image that is not in the store is fetched first by a program of its own
 * (hutch-image), whose messages reach the caller's stderr.  The configuration
 * came from strangers: its texts are bounded and checked (store/launch_config.h), and
 * the image's files are looked at only as overlay_lowers.h and image_passwd.h do.
 *
 * With ranges the sandbox uses copies of the layers, in which each file belongs
 * to the id that it had in the image (rootfs-tools/layers/ranged.h).  They are made
 * when the first sandbox needs them: store_image_name_ranged() says where they are,
 * store_image_make_ranged() makes those that are missing.  Files are looked up in the
 * layers themselves, which the caller can read.
 *
 * Docker's rules: -u replaces User, -w WorkingDir.  Words behind the flags
 * replace Cmd, and are put behind Entrypoint; --entrypoint replaces that, and
 * drops Cmd.  A user without a group has that of /etc/passwd, or 0. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "store/launch_config.h"

struct err;
struct idmaps;
struct policy;

struct store_image {
	struct launch_config launch_config;
	struct digest image; /* the digest of the image's manifest */
	bool was_root;	    /* set before store_image_open(): the environment is root's */
	int lock;	    /* owned: a lock; the image stays in the store as long as
			     * this descriptor is open */
	char *name;	    /* owned: the image's name, in its shortest form */
	struct list lowers; /* paths of the image's layers, the lowest one first */
	struct list ranged; /* paths of the layers' copies; empty without ranges */
	char *store;	    /* owned: the store's path */
	struct list argv;   /* the words of the command; empty where the caller wants
			     * no command */
	uint32_t uid, gid;
	char *user, *home, *workdir; /* owned; workdir NULL: none is named */
};

void store_image_init(struct store_image *s);
void store_image_done(struct store_image *s);

/* Finds the image, and fetches it first if it is not in the store.  Called as
 * the user that the inside stands for.  With `is_dry_run` nothing is fetched. */
int store_image_open(struct store_image *s, const struct policy *p, bool is_dry_run,
		     struct err *e);

void store_image_name_ranged(struct store_image *s, const struct idmaps *maps);
/* Runs hutch-image to make the missing copies of layers; hutch-image writes to
 * the descriptor `words` if that is much work.  For signals, image_tool.h
 * holds. */
int store_image_make_ranged(const struct store_image *s, const struct idmaps *maps,
			    int words, struct err *e);
