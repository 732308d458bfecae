/* fd_flag -- reads a flag whose value is the number of a descriptor that the caller
 * has opened. */
#pragma once

struct err;

/* Reads the number of an open descriptor, the `value` of `flag`.  The function does not
 * check the descriptor's kind, and does not take it: the caller still owns it. */
int fd_flag_fd(const char *flag, const char *value, int *ret, struct err *e);
