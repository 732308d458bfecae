/* bridge -- bytes both ways between stdin and stdout and a socket. */
#pragma once
#include <stddef.h>

struct err;

enum bridge_end {
	BRIDGE_FAILED = -1,
	BRIDGE_DONE,   /* the input has ended, and then the other side */
	BRIDGE_CLOSED, /* the other side ended first */
	BRIDGE_UNREAD  /* nobody reads stdout any more */
};

/* Takes `fd` over.  The end of stdin becomes that of the connection's way there; what
 * comes is written until the other side ends.  `first`: what came already. */
enum bridge_end bridge(int fd, const void *first, size_t len, struct err *e);
