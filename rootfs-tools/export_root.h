/* export_root -- writes the files of an image as one folder, with neither layers nor a
 * configuration, as `--image dir:PATH` takes it.
 *
 * The files belong to the caller, as in the store.  Strangers made the image, so a jailed
 * process makes the copy (rootfs-tools/layers/image_copy.h). */
#pragma once

struct digest;
struct err;
struct store;

/* Makes the folder `path`, which must not exist yet or be empty; it gets its name when it
 * is whole.  The caller holds the store's lock, shared. */
int export_root(const struct store *s, const struct digest *image, const char *path,
		struct err *e);

/* Gives a whole output its name; an empty folder there is replaced. */
int export_root_name(const char *fresh, const char *path, struct err *e);
