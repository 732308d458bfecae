/* image_copy -- copies the tree that overlayfs would show of an image, or one
 * layer of it.
 *
 * A launch uses the copy where the kernel does not let this user mount
 * overlayfs: the sandbox then writes to the copy.  Names, modes, times, links,
 * and hard links within a layer are as in the image; user.* attributes, too,
 * except overlayfs' own; files that a layer deletes are missing.  Every file
 * belongs to the caller, as in the layers; other owners stay in
 * user.hutch.stat.  Holes stay holes.
 *
 * With ranges (sandbox/kernel/idmap.h) the copy is of one layer, to be a lower of a
 * sandbox that has these ranges: each file belongs to the id inside that
 * user.hutch.stat names, else to root, with the mode in it; whiteouts and
 * user.overlay.opaque are kept.  Ids that are not mapped become 65534, as the
 * kernel shows them.
 *
 * Copies are made by copy_file_range(2), which shares the data of two files on
 * one btrfs or xfs: it tries that first (FICLONE) on all kernels since 4.5,
 * even across the mounts of a jail, where ioctl(2) refuses before 5.19; else it
 * copies within the kernel.
 *
 * Strangers made the image, so the copy is made in a jail (sandbox/root/jail.h),
 * which sees the two folders and no more. */
#pragma once
#include <stdint.h>

#include "rootfs-tools/layers/count.h"

struct err;
struct idmaps;
struct list;

struct image_copy {
	const struct list *hexes; /* the image's layers, lowest first; NULL: `from` is a
				   * folder to be copied, without the mounts in it */
	const struct idmaps *ranges; /* borrowed; if set, `from` is one layer, which is
				      * copied for these ranges, and hexes is NULL */
	int from; /* borrowed, readable: the store's folder of layers, or the folder to
		   * be copied */
	int to;	  /* borrowed, readable: an empty folder that belongs to the caller */
	int leash; /* borrowed; for the jail (sandbox/root/jail.h) */
};

/* Counts of the copy.  Left out are devices, sockets, and in a folder that is
 * no layer also files that their owner may not read; `first` is one of them. */
struct image_copy_sum {
	uint64_t entries, bytes, left_out;
	char first[200];
	struct count there; /* with ranges: the count of the files in the copy */
};

/* Makes the copy.  Changes the working directory of the calling process
 * (jail_start()). */
int image_copy_make(const struct image_copy *r, struct image_copy_sum *ret,
		    struct err *e);
