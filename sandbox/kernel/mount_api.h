/* mount_api -- detached mounts: made or cloned, given their flags, then attached. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* Makes a new file system, such as "tmpfs" with "size=1m,mode=0755", mounted
 * nowhere yet.  Returns a descriptor of its root. */
int mount_api_make(const char *type, const char *options, uint64_t attr, struct err *e);

/* Clones the mount at `path` below `dir`, or of `dir` itself when `path` is
 * empty; with its submounts when `is_tree`. */
int mount_api_clone(int dir, const char *path, bool is_tree, struct err *e);

/* Adds MOUNT_ATTR_* and makes propagation private. */
int mount_api_set_attr(int mount, uint64_t attr, bool is_tree, const char *what,
		       struct err *e);

/* A detached, read-only clone of one file's mount, to execute the file from: a process that
 * opens /proc/PID/exe gets the read-only mount.  Returns an O_PATH descriptor. */
int mount_api_clone_file(const char *path, struct err *e);

/* Attaches `mount` over `name` below the descriptor `dir`, following no link, or
 * over `dir` itself where `name` is empty; `where` is for messages. */
int mount_api_attach(int mount, int dir, const char *name, const char *where,
		     struct err *e);
