/* layer -- whiteouts, opaque folders, owners and attributes of an image layer's tar,
 * stored as overlayfs reads them in a lower folder (OCI image specification 1.1,
 * "Image Layer Filesystem Changeset"; the kernel's overlayfs.rst, mounted with
 * userxattr).
 *
 *	in the tar		in the folder
 *	.wh.NAME		NAME, a character device 0:0
 *	.wh..wh..opq		user.overlay.opaque "y" on the folder that has it
 *	uid, gid, setuid, ...	user.hutch.stat "UID GID MODE", MODE octal, on files and
 *				folders; links and FIFOs cannot have attributes
 *	SCHILY.xattr.user.*	the same attribute; not user.overlay.* and user.hutch.*
 *
 * Other names that begin with ".wh..wh." belong to aufs and have no meaning here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct entry_path;
struct tar_entry;
struct tar_pax;

enum layer_kind {
	LAYER_THING,	/* an ordinary entry, as in any tar */
	LAYER_WHITEOUT, /* the file or folder of that name is deleted */
	LAYER_OPAQUE,	/* everything that lower layers have in the folder is deleted */
	LAYER_NOTHING,
};

/* Finds the kind of the entry with the path `p` in a layer.  For a whiteout, `p` is
 * changed to the path of the file that the whiteout deletes.  ERR_PROTOCOL: the
 * whiteout deletes "." or "..", has no name after ".wh.", or is a folder with files in
 * it. */
int layer_read(struct entry_path *p, enum layer_kind *ret, struct err *e);

/* Returns the mode that an entry's file or folder gets: without setuid and setgid, and
 * without the sticky bit unless the entry is a folder. */
uint32_t layer_mode(const struct tar_entry *entry);

/* Makes a whiteout called `name` in `folder`, where no file of that name may be yet;
 * `path` is for messages. */
int layer_hide(int folder, const char *name, const char *path, struct err *e);

/* Makes the folder `fd` hide the content of the same folder in lower layers. */
int layer_make_opaque(int fd, const char *path, struct err *e);

/* Sets the attributes of the file or folder `fd`, which its owner may write.
 * `is_new`: the file has no attributes yet.  *left_out counts the attributes that
 * could not be kept. */
int layer_give(int fd, const struct tar_entry *entry, const struct tar_pax *pax,
	       bool is_new, uint64_t *left_out, struct err *e);

/* Returns whether layer_give() would set anything on a new file. */
bool layer_has_any(const struct tar_entry *entry, const struct tar_pax *pax);
