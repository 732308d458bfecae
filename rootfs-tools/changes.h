/* changes -- what was written over an image, as a layer of one.
 *
 * The folder was written by the inside: it is read in a jail (sandbox/jail.h), by a
 * process of its own.
 *
 * The layer is a tar as image-spec/layer.md (OCI 1.1) has it.  What is gone is an empty
 * file ".wh.NAME", a folder that shows nothing of what is below it has ".wh..wh..opq";
 * user.* attributes are SCHILY.xattr records, but for those of overlayfs and hutch.
 * With one id files belong to root, or to whom their user.hutch.stat says
 * (rootfs-tools/layers.h), which gives setuid, setgid and sticky bits too.  FIFOs are in it;
 * left out are sockets, devices, files with more than 1 GiB of holes and little else, which
 * would be zeros, and what has a name with ".wh." in front, which would mean something else
 * there.  Equal trees, times included, give equal bytes. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;
struct outcome;

#define CHANGES_MAX (64ull << 30) /* bytes of a tar: what layers_unpack() takes */

struct changes {
	int upper;	/* borrowed; an upper layer */
	int out;	/* borrowed; where its tar goes */
	uint64_t max;	/* bytes of it, if that is a file; CHANGES_MAX at most; 0: that */
	int64_t newest; /* no time in it is later, in seconds since 1970; 0: any may be */
	/* Borrowed; the files belong to whom they belong, of these ids (sandbox/idmap.h), and
	 * not to whom user.hutch.stat says; NULL: one id is mapped. */
	const struct idmaps *ranges;
};

/* *ret says how much it is, and what was left out (sandbox/cli/party.h).  One that gets too
 * large is ERR_LIMIT, with EFBIG. */
int changes_tar(const struct changes *c, struct outcome *ret, struct err *e);
