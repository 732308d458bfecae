/* merged -- folders that lie on top of each other, seen as the one tree that overlayfs
 * would make of them, without mounting anything.
 *
 * For looking up where something is to be copied, and for reading what another stage has
 * made.  The folders may have been written by a guest: work for a jail (sandbox/jail.h).
 * Each name is looked up by openat2(2) beneath its layer and through no link; links are
 * followed here, by their text, and lead out of the tree for nobody.
 *
 * With one folder that is no layer, it is that folder as it is; and so is one layer, with its
 * whiteouts, where it is opened by itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/list.h"

struct err;

#define MERGED_LAYERS_MAX 500
#define MERGED_LINKS_MAX  40 /* that one path may lead through, as in the kernel */

struct merged {
	int layers[MERGED_LAYERS_MAX]; /* owned; the uppermost first */
	size_t count;
	bool is_overlay; /* whiteouts are */
	bool has_owners; /* user.hutch.stat says who owns it */
};

/* Something in it. */
struct merged_at {
	char *path;	/* owned; from the root, "" is the root itself; without links */
	struct stat st; /* with the owner and mode that it is to have */
	size_t layer;	/* that has it: the uppermost */
	size_t *live;	/* owned; of a folder: all layers that show through in it */
	size_t live_count;
};

/* The layers hexes[] (the lowest first) of the store's folder `layers`. */
int merged_open_layers(struct merged *m, int layers, const struct list *hexes,
		       struct err *e);

/* `folder` is taken over. */
void merged_open_folder(struct merged *m, int folder);
void merged_open_layer(struct merged *m, int folder);
void merged_done(struct merged *m);

int merged_root(const struct merged *m, struct merged_at *ret, struct err *e);
void merged_at_done(struct merged_at *at);

/* `name` in a folder.  0: there is none; 1: *ret is it. */
int merged_look(const struct merged *m, const struct merged_at *folder, const char *name,
		struct merged_at *ret, struct err *e);

/* The names in a folder, sorted; some may be gone, which merged_look() says. */
int merged_names(const struct merged *m, const struct merged_at *folder, struct list *ret,
		 struct err *e);

/* Goes along `path`, from the root, through links, never out of it.  *ret is the last
 * thing on it that is there, *ret_missing (allocated) what comes behind that, "" if
 * nothing; both have no link and no "..".  `follows`: a link at the end, too. */
int merged_resolve(const struct merged *m, const char *path, bool follows,
		   struct merged_at *ret, char **ret_missing, struct err *e);

/* A descriptor to read the file or folder, or -1. */
int merged_open(const struct merged *m, const struct merged_at *at, struct err *e);

/* Where a link points to, allocated. */
int merged_read_link(const struct merged *m, const struct merged_at *at, char **ret,
		     struct err *e);
