/* procfs -- fresh procfs mounts of the caller's pid namespace, and writes to one that
 * another process may have mounted something over. */
#pragma once

struct err;

/* Returns a descriptor of a detached procfs with `options` as fsconfig(2) takes them, such
 * as "hidepid=ptraceable"; nosuid, nodev, noexec.  Where parts of the existing /proc are
 * masked the kernel refuses it, and the error says so. */
int procfs_make(const char *options, struct err *e);

/* A process that has joined the mounts of a container finds there what the container has
 * mounted.  A container with CAP_SYS_ADMIN could lead a write to /proc/self/attr/exec to
 * another file of procfs, such as that of another process (CVE-2025-52881); being a file of
 * procfs says nothing.  The following functions refuse every mount in the path. */

/* Opens `path`, such as "/proc", as the root of a procfs; ERR_REFUSED: it is none.  The
 * descriptor is O_PATH. */
int procfs_open_root(const char *path, struct err *e);
/* Opens the file `path`, such as "self/attr/exec", of the procfs whose root is `root`.  A
 * link of procfs to a file ("self/exe") and a mount over any part of the path are
 * ERR_REFUSED; a file that this kernel lacks is ERR_NOT_FOUND. */
int procfs_open(int root, const char *path, int flags, struct err *e);
/* Writes `text` to such a file below /proc in one write(2). */
int procfs_write(const char *path, const char *text, struct err *e);
