/* mount_options -- the options of the file system at a path.
 *
 * statmount(2) tells those of one mount.  /proc/self/mountinfo tells those of all mounts:
 * on a host with many of them the kernel needs longer to write that file than a supervisor
 * for all else at its start. */
#pragma once
#include <stddef.h>

/* Copies the file system's own options, such as "hidepid=invisible,gid=5", to `ret`.
 * There may be none: then the text is empty.  Returns -1 with errno set if `path` does not
 * exist, if the options take `size` bytes or more (EOVERFLOW), and if the kernel cannot
 * tell them alone (ENOSYS; it can since 6.13). */
int mount_options_read(const char *path, char *ret, size_t size);
