/* channel -- the executor's end of the socket to the supervisor.
 *
 * Frames of base/frame.h go both ways, and descriptors come in beside frames
 * (docs/protocol.md).  Both directions are bounded: the input by the largest request, the
 * output by CHANNEL_OUT_MAX. channel_is_full() says when no more requests should be read,
 * so that this bound is never reached.  Nothing here blocks.
 *
 * A request is read in two steps, its header and then its body, never a byte further.  So
 * a descriptor that comes with a header belongs to that request, and a descriptor that
 * comes with a body is a violation of the protocol.
 *
 * Order of calls for one request: channel_receive() until it returns 1, then
 * channel_take_fds() if the request has any, then channel_received(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;
struct frame;

/* A request carries at most this many descriptors: stdin, stdout and stderr of a
 * command. */
#define CHANNEL_FDS 3

/* When this many bytes of output wait to be sent, no more requests are read. */
#define CHANNEL_OUT_HIGH (32u << 10)
/* The size of the output buffer: CHANNEL_OUT_HIGH, and room for the answers to the
 * requests that were read before that mark was reached. */
#define CHANNEL_OUT_MAX (256u << 10)

struct channel {
	int fd; /* owned; the socket */
	struct buffer in, out;
	int fds[CHANNEL_FDS]; /* owned; the descriptors that came with the request that is
			       * being read */
	size_t fd_count;
};

/* Takes over `fd`, a connected stream socket. */
void channel_init(struct channel *c, int fd);
/* Closes the socket, and the descriptors that the caller has not taken. */
void channel_done(struct channel *c);

/* Reads the available bytes of the next request.  Returns 1 when the request is complete,
 * in *ret, which is borrowed until channel_received(); 0: the rest has not arrived yet;
 * -1: the supervisor has closed the socket, or violated the protocol. */
int channel_receive(struct channel *c, struct frame *ret, struct err *e);

/* Hands over the three descriptors of the request, close-on-exec. */
int channel_take_fds(struct channel *c, int ret_fds[CHANNEL_FDS], struct err *e);
/* channel_take_pair() hands over the descriptors of a request that has exactly two, and
 * channel_take_fd() that of a request that has exactly one. */
int channel_take_pair(struct channel *c, int ret_fds[2], struct err *e);
int channel_take_fd(struct channel *c, int *ret_fd, struct err *e);

/* Releases the request, so that the next one can be read.  Returns -1 with *e set if the
 * caller has not taken a descriptor of the request: that descriptor came with a request
 * that has none. */
int channel_received(struct channel *c, const struct frame *f, struct err *e);

/* Sends as much of the waiting output as the socket takes. */
int channel_flush(struct channel *c, struct err *e);

/* Returns true when so much output waits that no more requests should be read for now. */
bool channel_is_full(const struct channel *c);
/* Returns true when there is output for channel_flush() to send. */
bool channel_has_output(const struct channel *c);
