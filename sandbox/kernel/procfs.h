/* procfs -- fresh procfs mounts of the caller's pid namespace. */
#pragma once

struct err;

/* Returns a descriptor of a detached procfs with `options` as fsconfig(2) takes them, such
 * as "hidepid=ptraceable"; nosuid, nodev, noexec.  Where parts of the existing /proc are
 * masked the kernel refuses it, and the error says so. */
int procfs_make(const char *options, struct err *e);
