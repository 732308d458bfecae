/* fd_flag -- reads a flag whose value is the number of a descriptor that the caller
 * has opened. */
#pragma once

struct err;

/* Reads the number of an open descriptor, the `value` of `flag`.  The
 * descriptor stays the caller's until it is used; the flag checks its kind. */
int fd_flag_fd(const char *flag, const char *value, int *ret, struct err *e);
