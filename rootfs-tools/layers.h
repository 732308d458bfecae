/* layers -- layers' tars, unpacked to be lowers of overlays.
 *
 * The bytes were made by strangers.  Processes of their own read them, which have given
 * up everything else (sandbox/jail.h): one decompresses, another one reads the tar and
 * has the folder, and what is between them is hashed by neither (rootfs-tools/sluice.h).
 * Only when that is the layer's diff_id does the folder get its name.
 *
 * In the folder: a deleted file is overlayfs' whiteout (a character device 0:0, which
 * anybody may make since 5.8), an opaque folder has user.overlay.opaque "y".  Everything
 * belongs to the caller.  Whose it was, where that is not root, and the setuid and setgid
 * bits, and the sticky bits of files, are kept as data, in user.hutch.stat: "UID GID
 * MODE", MODE octal; not of links and FIFOs, which can have no such attribute.  Devices
 * are left out; of extended attributes only user.* come in, without user.overlay.* and
 * user.hutch.* (archive/layer.h, and struct unpack_layer of archive/unpack.h).
 *
 * A folder that the layer does not name, and that something of it is in, has mode 0755
 * whatever it has in the layers below: a layer is shared by all images that have it, so
 * what is below is another one each time.  Docker has 0755 there too (moby's
 * ImpliedDirectoryMode), podman 0777; containerd unpacks a layer once for each chain that
 * it is in, and copies the mode from below.  Who writes layers names such folders. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/count.h"
#include "store/digest.h"

struct err;
struct store;

/* What is in layers/HEX/about, "KEY NUMBER\n" each. */
struct layer_about {
	uint64_t entries, bytes; /* files, folders, links; bytes of files */
	uint64_t left_out;	 /* devices, attributes: what was not unpacked */
	/* Its root is opaque: nothing is seen of layers below it.  Overlayfs does not look
	 * at that, so they are not to be among the lowers. */
	bool hides_all;
	/* What is in the folder: who looks again sees by it what has changed. */
	struct count there;
};

/* Bounds for one layer; 0: the default, that is 4 million entries, and for the tar 64 GiB
 * and 200 times the compressed size and 1 GiB. */
struct layer_limits {
	uint64_t entries_max, bytes_max;
};

bool layers_has(const struct store *s, const struct digest *diff_id, struct layer_about *ret);

/* What is in `folder`'s about; false: nothing is.  And writes it. */
bool layers_read_about(int folder, struct layer_about *ret);
int layers_write_about(int folder, const struct layer_about *about, struct err *e);

/* Unpacks `blob`, a tar as it is or in gzip's, zstd's or xz's form, which is found out,
 * unless the layer is there.  If somebody else is at it, waits.  A diff_id that is not
 * the tar's is ERR_REFUSED; NULL: any.  `limits`, ret_diff_id and ret may be NULL.
 *
 * The blob is read from where it stands.  What was unpacked of a layer that is refused is
 * removed. */
int layers_unpack(const struct store *s, int blob, const struct digest *diff_id,
		  const struct layer_limits *limits, struct digest *ret_diff_id,
		  struct layer_about *ret, struct err *e);
