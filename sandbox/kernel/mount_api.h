/* mount_api -- makes or clones detached mounts, sets their flags, and attaches them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* Makes a new file system, such as "tmpfs" with "size=1m,mode=0755", mounted
 * nowhere yet.  Returns a descriptor of its root. */
int mount_api_make(const char *type, const char *options, uint64_t attr, struct err *e);

/* Clones the mount at `path` below `dir`, or of `dir` itself when `path` is empty;
 * with its submounts when `is_tree`.  Returns a descriptor of the clone. */
int mount_api_clone(int dir, const char *path, bool is_tree, struct err *e);

/* Adds the flags `attr` (MOUNT_ATTR_*) to a mount, with its submounts when
 * `is_tree`, and makes its propagation private; `what` is for messages. */
int mount_api_set_attr(int mount, uint64_t attr, bool is_tree, const char *what,
		       struct err *e);

/* Binds `source`, with its submounts, over `name` in the folder `dir`, which becomes the
 * working directory; a relative `source` is looked up in it, too.  One call does what clone
 * and attach do in two, and the kernel makes no namespace for a detached mount.  But a link
 * at `name` is followed, so `dir` has to be a folder whose names no other process changes,
 * or one of the kernel's. */
int mount_api_bind(const char *source, int dir, const char *name, struct err *e);

/* The same in the working directory. */
int mount_api_bind_here(const char *source, const char *name, struct err *e);

/* Does as mount_api_set_attr() for the mount at `name` in `dir`, following no link; an
 * error if there is no mount. */
int mount_api_set_attr_at(int dir, const char *name, uint64_t attr, const char *what,
			  struct err *e);

/* Makes a detached, read-only clone of one file's mount, to execute the file from: a
 * process that opens /proc/PID/exe gets the read-only mount, and cannot write to the
 * file.  Returns an O_PATH descriptor. */
int mount_api_clone_file(const char *path, struct err *e);

/* Attaches `mount` over `name` below the descriptor `dir`, following no link, or
 * over `dir` itself if `name` is empty; `where` is for messages. */
int mount_api_attach(int mount, int dir, const char *name, const char *where,
		     struct err *e);
