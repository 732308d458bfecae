/* store_image -- an image of the image store, for one launch: finds it, keeps it from
 * being removed, and works out the command from its configuration and the caller's
 * options.
 *
 *	store_image_init, store_image_open
 *	... as long as the sandbox lives ...
 *	store_image_done
 *
 * An image that is not in the store is downloaded first, by the program hutch-image,
 * whose messages go to the caller's stderr.  The image's configuration is untrusted: its
 * texts are bounded and checked (store/launch_config.h), and the image's files are
 * looked at only as overlay_lowers.h and image_passwd.h do.
 *
 * With --idmap ranges the sandbox uses copies of the layers, in which each file belongs
 * to the id that it had in the image (rootfs-tools/layers/ranged.h).  The copies are
 * made when the first sandbox needs them: store_image_name_ranged() sets their paths,
 * store_image_make_ranged() makes those that are missing.  Look-ups use the layers
 * themselves, since the caller can read those.
 *
 * The configuration and the options combine as with docker.  -u replaces User, and -w
 * replaces WorkingDir.  Arguments after the flags replace Cmd, and are appended to
 * Entrypoint; --entrypoint replaces Entrypoint and drops Cmd.  If -u or User names no
 * group, the group is that of the user in /etc/passwd, or 0. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "sandbox/plan/image_user.h"
#include "store/launch_config.h"

struct err;
struct idmaps;
struct policy;

struct store_image {
	struct launch_config launch_config;
	struct digest image; /* the digest of the image's manifest */
	bool was_root;	    /* set before store_image_open(): root started hutch, so the
			     * environment is root's */
	int lock;	    /* owned: the descriptor of a lock; as long as it is open,
			     * the image is not removed from the store */
	char *name;	    /* owned: the image's name, in its shortest form */
	struct list lowers; /* paths of the image's layers, the lowest one first */
	struct list ranged; /* paths of copies of the layers; empty without --idmap
			     * ranges */
	char *store;	    /* owned: the store's path */
	struct list argv;   /* the command's arguments; empty if the caller wants no
			     * command */
	struct image_user user;
	char *workdir; /* owned; NULL: the image names none */
};

void store_image_init(struct store_image *s);
void store_image_done(struct store_image *s);

/* Finds the image; downloads it first if it is not in the store, except with
 * `is_dry_run`.  To be called by a process that has become the user that the sandbox
 * stands for (host_user.h). */
int store_image_open(struct store_image *s, const struct policy *p, bool is_dry_run,
		     struct err *e);

void store_image_name_ranged(struct store_image *s, const struct idmaps *maps);
/* Runs hutch-image to make the missing copies of layers.  If that is much work,
 * hutch-image writes a note to the descriptor `words`.  image_tool.h says how signals
 * are handled. */
int store_image_make_ranged(const struct store_image *s, const struct idmaps *maps,
			    int words, struct err *e);
