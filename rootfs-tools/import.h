/* import -- images that are on this machine already, in whatever form.
 *
 * What is imported was made by strangers: each byte of it is checked against a digest, or
 * gets one, before it is unpacked. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct source;
struct store;

/* What is wanted of it.  The caller holds the store's lock, shared. */
struct import {
	const struct store *store;
	const char *tag;	      /* which one of several, or NULL */
	const struct reference *name; /* what it is to be called; NULL: as it says itself */
	struct reference *called;     /* filled in: what it is called now */
	/* For: how much of a folder could not be had, and what first.  May be NULL. */
	void (*on_left_out)(uint64_t count, const char *first);
};

/* A path of an OCI layout (image-spec/image-layout.md), and of what docker save writes. */
bool import_is_part(const char *path);
bool import_is_layout(const struct source *from);
int import_layout(const struct import *i, const struct source *from, struct err *e);
int import_saved(const struct import *i, const struct source *from, struct err *e);

/* The root file system itself: as a tar, in any of the forms that layers_unpack() takes,
 * and as a folder, which becomes one layer that belongs to root. */
int import_tar(const struct import *i, int fd, struct err *e);
int import_tree(const struct import *i, int folder, struct err *e);

/* Whether what is compressed is a tar of an image's parts; looks no further than to the
 * first path that is none. */
bool import_has_parts(const struct store *s, int in);

/* What gzip, zstd or xz made smaller, from `in` to `out`, both borrowed, in a jail. */
int import_inflate(const struct store *s, int in, int out, struct err *e);

/* What it is called: as is wanted, or as it says. */
int import_name(const struct import *i, const char *says, struct err *e);
