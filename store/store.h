/* store -- the images of a user: $XDG_DATA_HOME/hutch/store, 0700.
 *
 *	version			"1\n"; another one is refused
 *	lock			flock(2): shared by whoever adds, exclusive by whoever
 *				removes what nobody refers to
 *	blobs/HEX		bytes by their digest, as they came: manifests,
 *				configurations, compressed layers; 0400, never changed
 *	layers/HEX/fs		a layer by the digest of its tar (its diff_id), unpacked
 *				once, to be a lower of overlays
 *	layers/HEX/about	what is to be known of it (rootfs-tools/layers.h)
 *	ranged/MAPS/HEX		a copy of a layer for sandboxes with ranges, made when one
 *				needs it (rootfs-tools/ranged.h)
 *	images/HEX		an image by the digest of its manifest: a recipe
 *				(store/recipe.h).  Whoever uses it holds its lock
 *	names/NAME		what it is called: a link whose text is HEX (store/names.h)
 *	max-size		how large it may become (rootfs-tools/quota.h)
 *	tmp/XXX			what is not done yet, locked by who does it; what nobody
 *				locks is left over
 *	tmp/blob-HEX		a part of a blob, from which the next try goes on
 *
 * Everything gets its name by rename(2) when it is whole, so that a kill at any instant
 * leaves a store that works.  What refers is removed before what it refers to, and made
 * after it.
 *
 * Read by the launcher, which has no JSON, and written by hutch-image. */
#pragma once
#include <stdbool.h>

struct err;

#define STORE_BLOBS  "blobs"
#define STORE_LAYERS "layers"
#define STORE_IMAGES "images"
#define STORE_NAMES  "names"
#define STORE_RANGED "ranged" /* not made with the store */
#define STORE_TMP    "tmp"
#define STORE_FS     "fs"
#define STORE_ABOUT  "about"
#define STORE_PARTIAL "blob-" /* in tmp: what is not swept away */

struct store {
	char *path; /* owned; absolute */
	int root;   /* owned; of `path` */
};

void store_init(struct store *s); /* then store_done() may be called */

/* Opens the caller's.  `may_make`: makes what is missing.  Without that, that there is
 * none is ERR_NOT_FOUND. */
int store_open(struct store *s, bool may_make, struct err *e);
void store_done(struct store *s);

/* A descriptor of its own of one of the folders above, or -1. */
int store_folder(const struct store *s, const char *name, struct err *e);

/* Holds the store's lock as long as the descriptor that is returned is open: shared, or
 * alone.  `waits`: until it can be had; else ERR_BUSY (EWOULDBLOCK). */
int store_lock(const struct store *s, bool alone, bool waits, struct err *e);

/* A fresh folder tmp/XXX, locked; *ret_name is allocated.  First removes what is left
 * over there.  Its descriptor, which holds the lock. */
int store_stage(const struct store *s, char **ret_name, struct err *e);
