/* merged -- reads a stack of layers as the one tree that overlayfs would show,
 * without a mount.
 *
 * This module looks up the destination of a COPY, and reads the files of another stage.
 * A sandbox may have written the folders, so the module is used in a jail
 * (sandbox/root/jail.h).  Each name is looked up by openat2(2) beneath its layer and
 * through no link.  Links are followed by their text (base/path_walk.h), and cannot
 * lead out of the tree.
 *
 * A folder that is no layer can be opened alone, and is read as it is; so can a
 * single layer, whose whiteouts are then visible. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/list.h"

struct err;

#define MERGED_LAYERS_MAX 500

struct merged {
	int layers[MERGED_LAYERS_MAX]; /* owned; the uppermost layer first */
	size_t count;
	bool is_overlay; /* whiteouts hide files of lower layers */
	bool has_owners; /* user.hutch.stat holds the owners of files */
};

/* A file or folder in the tree. */
struct merged_at {
	char *path;	/* owned; the path from the root, without links; "" is the root
			 * itself */
	struct stat st; /* the file's stat, with the owner and mode from the layer's
			 * data */
	size_t layer;	/* the uppermost layer that has the file */
	size_t *live;	/* owned; of a folder: all layers whose entries are visible in
			 * it */
	size_t live_count;
};

/* Opens the layers hexes[] (lowest first) in the store's folder `layers`. */
int merged_open_layers(struct merged *m, int layers, const struct list *hexes,
		       struct err *e);

/* merged_open_folder() opens one folder that is no layer, merged_open_layer() one
 * single layer.  Each takes ownership of `folder`. */
void merged_open_folder(struct merged *m, int folder);
void merged_open_layer(struct merged *m, int folder);
void merged_done(struct merged *m);

int merged_root(const struct merged *m, struct merged_at *ret, struct err *e);
void merged_at_done(struct merged_at *at);

/* Looks up `name` in a folder.  Returns 1 if *ret is the entry, 0 if there is none. */
int merged_look(const struct merged *m, const struct merged_at *folder, const char *name,
		struct merged_at *ret, struct err *e);

/* Gives the names in a folder, sorted.  Some of them may be deleted by a layer above,
 * which merged_look() shows. */
int merged_names(const struct merged *m, const struct merged_at *folder, struct list *ret,
		 struct err *e);

/* Follows `path`, from the root, through links, never out of the tree.  *ret is the
 * last existing file or folder on the path, *ret_missing (allocated) the rest of the
 * path, "" if there is none; neither has links or "..".  `follows`: a link at the end
 * is followed, too. */
int merged_resolve(const struct merged *m, const char *path, bool follows,
		   struct merged_at *ret, char **ret_missing, struct err *e);

/* Opens the file or folder for reading; -1 on failure. */
int merged_open(const struct merged *m, const struct merged_at *at, struct err *e);

/* Returns the target of a link, allocated. */
int merged_read_link(const struct merged *m, const struct merged_at *at, char **ret,
		     struct err *e);
