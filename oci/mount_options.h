/* mount_options -- the words of a mount's `options`, as flags of a raw plan's step. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct config_mount;
struct raw_step;

/* The words that are no flags of the mount itself. */
struct mount_options {
	bool is_bind, is_tree, is_remount, copies_up, is_idmapped, is_tree_idmapped;
	char *data; /* owned: options of the file system, joined by commas; NULL: none */
};

/* Reads a mount's options into `ret` and the flags, tree flags and propagation of
 * `step`. */
void mount_options_read(const struct config_mount *m, struct mount_options *ret,
			struct raw_step *step);

/* Returns the source of a bind, allocated: a relative one lies below the bundle. */
char *mount_options_source(const struct config_mount *m, const char *bundle);

/* Calls `does` with each word that mount_options_read() knows, for `features`. */
void mount_options_each(void (*does)(const char *word, void *arg), void *arg);
