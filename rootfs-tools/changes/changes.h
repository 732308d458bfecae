/* changes -- writes an upper layer as a layer of an image.
 *
 * The sandbox wrote the folder, so a separate process reads it in a jail
 * (sandbox/root/jail.h).
 *
 * The layer is a tar according to image-spec/layer.md (OCI 1.1).  A removed
 * file is an empty file ".wh.NAME"; a folder that hides the lower one's content
 * has ".wh..wh..opq"; user.* attributes, except those of overlayfs and hutch,
 * are SCHILY.xattr records.  With one mapped id files belong to root, or to the
 * owner in user.hutch.stat (rootfs-tools/layers/layers.h), which has setuid, setgid
 * and sticky bits too.  FIFOs are included.  Left out are sockets; devices;
 * files with more than 1 GiB of holes and little data, which would be zeros;
 * and files whose name begins with ".wh.", which would mean something else in a
 * layer.  Equal trees, times included, give equal bytes. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;
struct outcome;

#define CHANGES_MAX (64ull << 30) /* limit of a tar's bytes: as many as layers_unpack()
				   * takes */

struct changes {
	int upper;	/* borrowed; the upper layer to be read */
	int out;	/* borrowed; the descriptor to which the tar is written */
	uint64_t max;	/* limit of the tar's bytes, if `out` is a file; at most
			 * CHANGES_MAX, and 0 means CHANGES_MAX */
	int64_t newest; /* later modification times become this one, in seconds since
			 * 1970; 0: no limit */
	/* Borrowed: the mapped ids (sandbox/kernel/idmap.h).  If set, files belong to
	 * their owners as the sandbox sees them, and user.hutch.stat is ignored.  NULL:
	 * only one id is mapped. */
	const struct idmaps *ranges;
};

/* Writes the tar.  `ret` says how much was written, and how much was left out
 * (archive/outcome.h).  A tar that gets too large is ERR_LIMIT, with EFBIG. */
int changes_tar(const struct changes *c, struct outcome *ret, struct err *e);
