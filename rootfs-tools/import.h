/* import -- images from files and folders on this machine, in any known format.
 *
 * The imported files are not trusted.  Each one is checked against its digest before it
 * is unpacked; for a file without a digest, the digest is computed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct source;
struct store;

/* An import.  The caller holds the store's lock, shared. */
struct import {
	const struct store *store;
	const char *tag;	      /* the name of the one image to import, if the
				       * files hold several; or NULL */
	const struct reference *name; /* the name that the image gets; NULL: the name in
				       * the imported files */
	struct reference *called;     /* result: receives the name that the image got */
	/* Called if files of a folder could not be imported, with their number and the
	 * first one.  May be NULL. */
	void (*on_left_out)(void *context, uint64_t count, const char *first);
	void *context; /* borrowed */
};

/* Returns whether a file of this path occurs in an OCI layout
 * (image-spec/image-layout.md) or in an archive of docker save. */
bool import_is_part(const char *path);
bool import_is_layout(const struct source *from);
int import_layout(const struct import *i, const struct source *from, struct err *e);
int import_saved(const struct import *i, const struct source *from, struct err *e);

/* Import a root file system as an image of one layer.  import_tar() takes a tar in any
 * form that layers_unpack() takes, import_tree() a folder, whose files then belong to
 * root. */
int import_tar(const struct import *i, int fd, struct err *e);
int import_tree(const struct import *i, int folder, struct err *e);

/* Returns whether a compressed file is a tar of an OCI layout or of docker save.
 * Reading stops at the first path that fits neither. */
bool import_has_parts(const struct store *s, int in);

/* Decompresses gzip, zstd or xz from `in` to `out`, both borrowed, in a jail. */
int import_inflate(const struct store *s, int in, int out, struct err *e);

/* Gives the image the name that the caller asked for; without one, `says`, the name in
 * the imported files. */
int import_name(const struct import *i, const char *says, struct err *e);
