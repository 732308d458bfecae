/* import -- images from files and folders on this machine, in any known format.
 *
 * The imported bytes come from strangers: each is checked against a digest, or
 * gets one, before it is unpacked. */
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
	const struct reference *name; /* the image's name to be; NULL: the name in its
				       * files */
	struct reference *called;     /* result: receives the name that the image got */
	/* Called with the number of files of a folder that could not be
	 * imported, and the first one.  May be NULL. */
	void (*on_left_out)(uint64_t count, const char *first);
};

/* Returns whether `path` belongs to an OCI layout (image-spec/image-layout.md) or to
 * an archive of docker save. */
bool import_is_part(const char *path);
bool import_is_layout(const struct source *from);
int import_layout(const struct import *i, const struct source *from, struct err *e);
int import_saved(const struct import *i, const struct source *from, struct err *e);

/* Import a root file system: a tar in any form that layers_unpack() takes, or a
 * folder, which becomes one layer that belongs to root. */
int import_tar(const struct import *i, int fd, struct err *e);
int import_tree(const struct import *i, int folder, struct err *e);

/* Returns whether a compressed file is a tar of an image's parts; reading stops at the
 * first path that is none. */
bool import_has_parts(const struct store *s, int in);

/* Decompresses gzip, zstd or xz from `in` to `out`, both borrowed, in a jail. */
int import_inflate(const struct store *s, int in, int out, struct err *e);

/* Sets the image's name: the caller's, or `says`, the name in its files. */
int import_name(const struct import *i, const char *says, struct err *e);
