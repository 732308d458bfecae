/* layers -- unpacks the tar of a layer into a folder, to be a lower layer of overlay
 * mounts.
 *
 * The bytes are not trusted.  They are read by two processes in jails
 * (sandbox/root/jail.h): one decompresses, the other one reads the tar and writes into
 * the folder.  A third process hashes the bytes between the two
 * (rootfs-tools/layers/layer_pipeline.h).  The folder gets its name only if that hash
 * is the layer's diff_id.
 *
 * In the folder a deleted file is overlayfs' whiteout (a character device 0:0,
 * which any user may make since 5.8), and an opaque folder has
 * user.overlay.opaque "y".  Every file belongs to the caller.  An owner other
 * than root, the setuid and setgid bits, and the sticky bits of files, are kept
 * as data, in user.hutch.stat: "UID GID MODE", MODE octal.  Links and FIFOs can
 * have no such attribute.  Devices are left out; of extended attributes only
 * user.* are kept, without user.overlay.* and user.hutch.* (archive/layer.h,
 * and struct unpack_layer of archive/unpack.h).
 *
 * A folder that the layer does not name, but has files in, gets mode 0755
 * whatever mode it has in the layers below: a layer is shared by all images
 * that have it, and these differ in the layers below.  Docker uses 0755 there
 * too (moby's ImpliedDirectoryMode), podman 0777; containerd unpacks a layer
 * once for each chain that it is in, and copies the mode from below.  Tools
 * that write layers name such folders. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/layers/count.h"
#include "store/digest.h"

struct err;
struct store;

/* The content of layers/HEX/about, one "KEY NUMBER\n" for each member. */
struct layer_about {
	uint64_t entries, bytes; /* files, folders, links; bytes of files */
	uint64_t left_out;	 /* devices and attributes that were not unpacked */
	/* The layer's root is opaque: layers below are not visible.  Overlayfs
	 * does not look at the attribute of a root, so those layers must not be
	 * among the lowers. */
	bool hides_all;
	/* Counts and checksum of the folder's files; a later count shows changes. */
	struct count there;
};

/* Bounds for one layer; 0: the default, which is 4 million entries, and for the
 * tar 64 GiB, and 200 times the compressed size plus 1 GiB. */
struct layer_limits {
	uint64_t entries_max, bytes_max;
	bool is_plain; /* the blob must be an uncompressed tar, whose digest is the
			* layer's, too; others are ERR_REFUSED */
};

bool layers_has(const struct store *s, const struct digest *diff_id,
		struct layer_about *ret);

/* Read and write the file `about` of a layer's folder.  False: there is no valid file. */
bool layers_read_about(int folder, struct layer_about *ret);
int layers_write_about(int folder, const struct layer_about *about, struct err *e);

/* Unpacks `blob`, a tar that may be compressed by gzip, zstd or xz, unless the layer
 * is in the store.  Waits while another process unpacks the same layer.  A tar whose
 * digest is not `diff_id` is ERR_REFUSED; with NULL, every digest is accepted.
 * `limits`, ret_diff_id and ret may be NULL.  The blob is read from its present offset.
 * The files of a refused layer are removed. */
int layers_unpack(const struct store *s, int blob, const struct digest *diff_id,
		  const struct layer_limits *limits, struct digest *ret_diff_id,
		  struct layer_about *ret, struct err *e);
