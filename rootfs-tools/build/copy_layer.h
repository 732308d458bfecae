/* copy_layer -- turns a tar of copied files into a layer over an image.
 *
 * The destination is looked up in the image's layers, whose links stay within
 * them (rootfs-tools/layers/merged.h): if the image has a link to a folder there, a
 * copied folder goes into that folder, and the link stays.  A file replaces a
 * file or a link, never a folder.  An existing folder is written with its own
 * metadata, since the new entry would hide it.
 *
 * Neither the tar nor the layers are trusted, so this is done in a jail. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct list;
struct merged;

struct copy_layer {
	const struct list
		*layers;   /* hexadecimal digests, the lowest layer first; borrowed,
			    * like the other pointers */
	const char *to;	   /* absolute path of the destination; a slash at its end means
			    * that it is a folder */
	bool keeps_ids;	   /* files keep their owners from the tar, unless `owner` is
			    * set */
	const char *owner; /* "USER[:GROUP]", as numbers or as names in the image's passwd
			    * and group; NULL: 0 */
	bool has_mode;	   /* all files get `mode` */
	uint32_t mode;
	int64_t now;	/* modification time of new folders */
	int64_t newest; /* later modification times become this one; INT64_MAX: no
			 * limit */
};

/* Runs in a worker process (base/worker.h) and gives a struct outcome as its result.
 * Reads the tar `in` and writes the layer's entries to `out`, without the tar's end, so
 * that the caller can write more entries. */
struct copy_layer_order {
	const struct copy_layer *p;
	int layers; /* the store's folder of layers */
	int in, out;
	int leash; /* the worker's leash */
};
int copy_layer_work(void *order, void *outcome, struct err *e);

/* Finds the ids of an owner: "UID[:GID]", or names, which are looked up in the image's
 * own files (passwd(5), group(5)).  Without a group, the group is the user's, or 0.
 * Call this function in the jail; exported for tests. */
int copy_layer_owner(const struct merged *image, const char *owner, uid_t *ret_uid,
		  gid_t *ret_gid, struct err *e);
