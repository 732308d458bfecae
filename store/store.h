/* store -- the images of a user: $XDG_DATA_HOME/hutch/store, 0700.
 *
 *	version			"1\n"; another one is refused
 *	lock			flock(2): shared while a process adds, exclusive while one
 *				removes unreferenced files
 *	blobs/HEX		bytes by their digest, as downloaded: manifests,
 *				configurations, compressed layers; 0400, never changed
 *	layers/HEX/fs		a layer by the digest of its tar (its diff_id), unpacked
 *				once, to be a lower of overlays
 *	layers/HEX/about	the layer's properties (rootfs-tools/layers/layers.h)
 *	ranged/MAPS/HEX		a copy of a layer for sandboxes with ranges, made when one
 *				needs it (rootfs-tools/layers/ranged.h)
 *	images/HEX		an image by the digest of its manifest: a recipe
 *				(store/launch_config.h); each sandbox that uses the
 *				image locks it
 *	names/NAME		an image's name: a link with the text HEX (store/refs.h)
 *	max-size		how large the store may become (rootfs-tools/layers/quota.h)
 *	tmp/XXX			unfinished work, locked by its process; without a
 *				lock it is a leftover
 *	tmp/blob-HEX		a part of a blob, which the next attempt continues
 *
 * Everything gets its name by rename(2) when it is whole, so that a kill at any
 * instant leaves a store that works.  A reference is removed before its target, and
 * made after it.
 *
 * The launcher, which has no JSON, reads the store; hutch-image writes it. */
#pragma once
#include <stdbool.h>

struct err;

#define STORE_BLOBS  "blobs"
#define STORE_LAYERS "layers"
#define STORE_IMAGES "images"
#define STORE_NAMES  "names"
#define STORE_RANGED "ranged" /* the folder is made when it is first needed, not with
			       * the store */
#define STORE_TMP    "tmp"
#define STORE_FS     "fs"
#define STORE_ABOUT  "about"
#define STORE_PARTIAL "blob-" /* prefix of files in tmp that are not removed as
			       * leftovers */

struct store {
	char *path; /* owned; absolute */
	int root;   /* owned; the open folder `path` */
};

void store_init(struct store *s); /* Sets `s` to a store that is not open, for which
				   * store_done() may be called. */

/* Opens the caller's store.  `may_make`: missing parts of the store are made; without
 * it, a missing store is ERR_NOT_FOUND. */
int store_open(struct store *s, bool may_make, struct err *e);
void store_done(struct store *s);

/* Opens one of the store's folders, such as STORE_TMP; returns a new descriptor, or
 * -1. */
int store_folder(const struct store *s, const char *name, struct err *e);

/* Takes the store's lock, shared or exclusively (`alone`), which is held as long as
 * the returned descriptor is open.  `waits`: waits for the lock; else ERR_BUSY
 * (EWOULDBLOCK). */
int store_lock(const struct store *s, bool alone, bool waits, struct err *e);

/* Removes leftovers in tmp, and makes a new folder tmp/XXX, locked; *ret_name is
 * allocated.  Returns the folder's descriptor, which holds the lock. */
int store_stage(const struct store *s, char **ret_name, struct err *e);
