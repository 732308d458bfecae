/* raw_parts -- shared by the files that do the steps of a raw plan. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/kernel/mount_target.h"

struct err;
struct raw_plan;
struct raw_step;

/* The state that all steps share. */
struct raw_tree {
	const struct raw_plan *plan;
	size_t at;   /* number of the step that is being done */
	int root;    /* owned: the root of the mount that is the new root */
	int scratch; /* owned: a tmpfs that no path inside leads to; -1: no step needs it */
	int *hosts; /* owned: for each step that shows the host's "/", a clone of it; for
		      * others -1 */
	size_t overlays; /* how many overlays write to `scratch` */
	struct targets targets;
};

/* Finds the target of a step, made if it is missing; a directory or a file. */
int raw_target(struct raw_tree *t, const struct raw_step *s, bool is_dir,
	       struct mount_target *ret, struct err *e);
/* Opens the target, which must exist, as O_PATH. */
int raw_target_open(struct raw_tree *t, const struct raw_step *s, struct err *e);

/* Sets the step's flags, propagation and id map on a detached mount. */
int raw_dress(int mount, const struct raw_step *s, struct err *e);
/* Attaches a mount; a mount over the root becomes the root. */
int raw_attach(struct raw_tree *t, int mount, const struct mount_target *at,
	       const struct raw_step *s, struct err *e);

/* Copies the target's files into a new mount that is not attached yet; their links are not
 * followed. */
int raw_copy_up(struct raw_tree *t, int mount, const struct raw_step *s, struct err *e);

/* Clones the host's "/" for the steps that show it.  Call it before the new root covers
 * "/", since a clone that is made later would include the new root. */
int raw_clone_hosts(struct raw_tree *t, struct err *e);

/* The steps; each does one. */
int raw_do_bind(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_data(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_remount(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_cover(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_mask(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_dir(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_file(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_symlink(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_chmod(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_device(struct raw_tree *t, const struct raw_step *s, struct err *e);
int raw_do_overlay(struct raw_tree *t, const struct raw_step *s, struct err *e);

/* Writes all of `from`, from its offset on, to `to`. */
int raw_copy(int from, int to, const struct raw_step *s, struct err *e);

/* A path of this process's descriptor, for calls that take paths alone. */
struct raw_fd_path {
	char text[32];
};
struct raw_fd_path raw_fd_path(int fd);
