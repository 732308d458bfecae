/* bridge -- copies bytes both ways between stdin and stdout and a socket. */
#pragma once
#include <stddef.h>

struct err;

enum bridge_end {
	BRIDGE_FAILED = -1,
	BRIDGE_DONE,   /* stdin has ended, and then the other side has closed the
			* socket */
	BRIDGE_CLOSED, /* the other side has closed the socket before stdin ended */
	BRIDGE_UNREAD  /* the process that read stdout has closed it */
};

/* Takes `fd` over.  The end of stdin shuts down the socket for writing; bytes
 * from the socket are written to stdout until the other side ends.  `first`:
 * bytes that were read from the socket already. */
enum bridge_end bridge(int fd, const void *first, size_t len, struct err *e);
