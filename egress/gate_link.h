/* gate_link -- the stream of frames from and to hutch-gate.
 *
 * Frames to the gate are queued, each with at most one descriptor, and sent as the socket
 * takes them.  A gate that does not read is not read either (gate_link_may_read), and
 * what can still be queued then is bounded by the connections and questions that are
 * open. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct err;
struct frame;

#define GATE_LINK_READ_MAX (64u << 10) /* bytes of frames that wait to be handled */
#define GATE_LINK_SEND_MAX (32u << 10) /* with more bytes in the queue nothing is read */

struct gate_link {
	int socket; /* borrowed */
	struct buffer in;
	struct gate_frame *first, *last; /* owned: frames to send */
	size_t queued;			 /* bytes of these */
	bool is_crowded; /* the kernel takes no more descriptors now: try again later */
	bool is_dry;	 /* the last read has found nothing */
};

void gate_link_init(struct gate_link *g, int socket);
void gate_link_done(struct gate_link *g);

/* Queues the one frame in `frame`, which is emptied.  `fd` is borrowed, and duplicated;
 * -1: the frame has none.  Returns false if it could not be duplicated; nothing is
 * queued then. */
bool gate_link_queue(struct gate_link *g, struct buffer *frame, int fd);

/* Sends what the socket takes.  -1: the gate has gone. */
int gate_link_send(struct gate_link *g);
/* Returns whether there are frames for which the socket has had no room. */
bool gate_link_is_full(const struct gate_link *g);

bool gate_link_may_read(const struct gate_link *g);
/* Reads what has come.  1: there may be frames; 0: the gate has closed its end; -1: the
 * socket failed, or the gate sent a descriptor, which it may not. */
int gate_link_read(struct gate_link *g, struct err *e);
/* Gives the next frame of those that were read: 1, 0 or -1 as frames_next().  The frame
 * is valid until gate_link_drop() removes it. */
int gate_link_next(const struct gate_link *g, struct frame *ret, struct err *e);
void gate_link_drop(struct gate_link *g, const struct frame *frame);
