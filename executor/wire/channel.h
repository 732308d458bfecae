/* channel -- the executor's end of the socket to the supervisor.
 *
 * Frames of base/frame.h go both ways, and descriptors come in beside frames
 * (docs/protocol.md).  Both directions are bounded: the input by the largest request,
 * the output by CHANNEL_OUT_MAX. channel_is_full() says when no more requests should be
 * read, so that this bound is never reached.  Nothing here blocks.
 *
 * A request is read in two steps, its header and then its body, never a byte further.
 * So a descriptor that comes with a header surely belongs to that request, and one that
 * comes anywhere else is a violation.
 *
 * Order of calls for one request: channel_receive() until it returns 1, then
 * channel_take_fds() if the request has any, then channel_received(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;
struct frame;

/* stdin, stdout and stderr of a command. */
#define CHANNEL_FDS 3

/* Requests wait when this many bytes have not been sent... */
#define CHANNEL_OUT_HIGH (32u << 10)
/* ...and every answer to the requests before them fits on top of it. */
#define CHANNEL_OUT_MAX (256u << 10)

struct channel {
	int fd; /* owned */
	struct buffer in, out;
	int fds[CHANNEL_FDS]; /* owned; came with the request that is being read */
	size_t fd_count;
};

/* Takes over `fd`, a connected stream socket. */
void channel_init(struct channel *c, int fd);
/* Closes the socket, and descriptors that were not taken. */
void channel_done(struct channel *c);

/* Reads what there is of the next request.  1: it is whole, in *ret, which is borrowed
 * until channel_received().  0: more has to come.  -1: the supervisor is gone, or broke
 * the rules. */
int channel_receive(struct channel *c, struct frame *ret, struct err *e);

/* Hands over the three descriptors of the request, close-on-exec. */
int channel_take_fds(struct channel *c, int ret_fds[CHANNEL_FDS], struct err *e);
/* The same for a request that has exactly two descriptors, or one. */
int channel_take_pair(struct channel *c, int ret_fds[2], struct err *e);
int channel_take_fd(struct channel *c, int *ret_fd, struct err *e);

/* Releases the request.  A descriptor that was not taken is a violation. */
int channel_received(struct channel *c, const struct frame *f, struct err *e);

/* Sends as much as the socket takes. */
int channel_flush(struct channel *c, struct err *e);

/* True when no more requests should be read for now. */
bool channel_is_full(const struct channel *c);
/* True when there is something for channel_flush(). */
bool channel_has_output(const struct channel *c);
