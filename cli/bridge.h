/* bridge -- copies bytes both ways between stdin and stdout and a socket. */
#pragma once
#include <stddef.h>

struct err;

enum bridge_end {
	BRIDGE_FAILED = -1,
	BRIDGE_DONE,   /* the input has ended, and then the other side */
	BRIDGE_CLOSED, /* the other side ended first */
	BRIDGE_UNREAD  /* stdout's reader is gone */
};

/* Takes `fd` over.  The end of stdin shuts down the socket for writing; bytes
 * from the socket are written to stdout until the other side ends.  `first`:
 * bytes that were read from the socket already. */
enum bridge_end bridge(int fd, const void *first, size_t len, struct err *e);
