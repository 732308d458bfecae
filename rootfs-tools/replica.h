/* replica -- the tree that overlayfs would show of an image, or one layer of it, as files of
 * its own.
 *
 * For a kernel that has no overlayfs for who asks: what a sandbox writes is then written
 * to a copy.  Names, modes, times, links and hard links within a layer are as in the
 * image, and so are user.* attributes but overlayfs' own; what a layer deletes is not
 * there.  Everything belongs to the caller, as in the layers; owners that these keep as
 * data stay data.  Holes stay holes.
 *
 * With ranges (sandbox/idmap.h) it is the copy of one layer, to be a lower of a sandbox that
 * has them: each file belongs to the id inside whom user.hutch.stat names, else to root, with
 * the mode that is there; whiteouts and user.overlay.opaque are as they were.  Ids that are
 * not mapped become 65534, as the kernel shows them.
 *
 * It is copy_file_range(2) that shares the content, where both are on one btrfs or xfs:
 * it tries that first (FICLONE) on all kernels since 4.5, across the mounts of a jail
 * too, which ioctl(2) refuses before 5.19; else it copies within the kernel.
 *
 * The image was made by strangers: done in a jail (sandbox/jail.h), which sees the two
 * folders and no more. */
#pragma once
#include <stdint.h>

#include "rootfs-tools/count.h"

struct err;
struct idmaps;
struct list;

struct replica {
	const struct list *hexes; /* its layers, the lowest first; NULL: it is a folder as
				   * it is, without what is mounted in it */
	const struct idmaps *ranges; /* borrowed; `from` is a layer, and hexes is NULL */
	int from; /* borrowed, to read: the store's folder of layers, or the folder */
	int to;	  /* borrowed, to read: an empty folder of the caller's */
	int leash; /* borrowed; as the jail has it (sandbox/jail.h) */
};

/* What came of it.  Left out: devices, sockets, and of a folder that others wrote to also
 * what its owner may not read; `first` is one of them. */
struct replica_sum {
	uint64_t entries, bytes, left_out;
	char first[200];
	struct count there; /* with ranges: what the copy is */
};

/* Who calls has changed its directory after that (jail_start()). */
int replica_make(const struct replica *r, struct replica_sum *ret, struct err *e);
