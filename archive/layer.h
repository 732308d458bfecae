/* layer -- what the tar of an image's layer says besides what is in it, put down as
 * overlayfs reads it in a lower folder (OCI image specification 1.1, "Image Layer
 * Filesystem Changeset"; the kernel's overlayfs.rst, mounted with userxattr).
 *
 *	in the tar		in the folder
 *	.wh.NAME		NAME, a character device 0:0
 *	.wh..wh..opq		user.overlay.opaque "y" on the folder that it is in
 *	uid, gid, setuid, ...	user.hutch.stat "UID GID MODE", MODE octal, on files and
 *				folders; links and FIFOs cannot have any
 *	SCHILY.xattr.user.*	the same attribute; not user.overlay.* and user.hutch.*
 *
 * Other names that begin with ".wh..wh." are aufs' own and say nothing. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct place;
struct tar_entry;
struct tar_pax;

enum layer_kind {
	LAYER_THING,	/* as in any tar */
	LAYER_WHITEOUT, /* what is called so is deleted */
	LAYER_OPAQUE,	/* all that was in the folder before is deleted */
	LAYER_NOTHING,
};

/* What a place in the tar stands for.  Of a whiteout the place is then what it deletes.
 * ERR_PROTOCOL: it deletes "." or "..", or nothing, or is a folder with things in it. */
int layer_read(struct place *p, enum layer_kind *ret, struct err *e);

/* The mode that a folder or something else is given: without setuid, setgid and, but for
 * folders, sticky. */
uint32_t layer_mode(const struct tar_entry *entry);

/* A whiteout called `name`, where nothing is; `path` is for messages. */
int layer_hide(int folder, const char *name, const char *path, struct err *e);

/* The folder `fd` hides what is below it in lower layers. */
int layer_make_opaque(int fd, const char *path, struct err *e);

/* The attributes of the file or folder `fd`, which its owner may write.  `is_new`: it has
 * none yet.  Those that are not kept are counted. */
int layer_give(int fd, const struct tar_entry *entry, const struct tar_pax *pax, bool is_new,
	       uint64_t *left_out, struct err *e);

/* Whether layer_give() would do anything, for a new file. */
bool layer_has_any(const struct tar_entry *entry, const struct tar_pax *pax);
