/* socket_splice -- carries bytes between a stream socket and two pipes, both ways.
 *
 * A connection to a port inside consists of two splices, one at each side of the
 * channel:
 *
 *		host		      |			inside
 *	client -- socket -> out ======|=====> in -> socket -- server
 *			 <- in <======|====== out <-
 *
 * Bytes stay in the kernel (splice(2)).  The bytes under way in one direction are
 * exactly those in its pipe.  A full pipe stops the reading at its other end, so
 * nothing is dropped, no memory grows, and a slow peer delays no other connection.  No
 * call blocks.
 *
 * The end of a pipe does not mean that the data is complete: a process that is killed
 * closes its pipes, too.  A complete end is announced separately, over the channel:
 * when `out` has been closed, its owner sends that message, and socket_splice_finish() is
 * called when the other side's message has come.  Only then the end of `in` shuts the
 * socket down, so that a client never takes a torn stream for a whole one.  If this
 * process is killed, the client gets a reset: the socket is set to reset on close,
 * and only socket_splice_done() takes that back.
 *
 *	socket_splice_init, socket_splice_watch
 *	socket_splice_run	when epoll(7) has an event, and while it has more
 *	socket_splice_done, or socket_splice_reset */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct socket_splice {
	int socket;  /* owned; -1: closed, or never opened */
	int in, out; /* owned; -1: this direction has ended */
	bool is_in_dry;	  /* the pipe `in` has ended */
	bool is_in_whole; /* the other side has announced a complete end of `in` */
	bool is_unheard;  /* the pipe `out` has no reader any more */
	uint64_t in_bytes, out_bytes; /* bytes carried so far, in each direction */
	int sys;	  /* the errno, with SOCKET_SPLICE_BROKEN */
};

enum socket_splice_state {
	SOCKET_SPLICE_WAITS,	  /* nothing can be moved until the next event */
	SOCKET_SPLICE_HAS_MORE, /* its share of this turn is used up: call again without
				 * an event */
	SOCKET_SPLICE_BROKEN,	  /* the splice is to be reset */
};

/* Takes over the socket and both pipes, which must be non-blocking. */
void socket_splice_init(struct socket_splice *c, int socket, int in, int out);

/* Closes the descriptors that are open; the peer sees an end behind the delivered
 * bytes. */
void socket_splice_done(struct socket_splice *c);
/* Closes the descriptors with a reset, which TCP carries: bytes that are still in our
 * socket's queue are lost. A unix socket has no reset, and is just closed. */
void socket_splice_reset(struct socket_splice *c);

/* Adds the open descriptors to an epoll instance, edge-triggered; called once.  A
 * descriptor leaves the instance when it is closed.  False with errno set. */
bool socket_splice_watch(const struct socket_splice *c, int epoll, uint64_t tag);

/* Notes that the other side has announced that no bytes follow those in `in`. */
void socket_splice_finish(struct socket_splice *c);

/* Moves as many bytes as can be moved now. */
enum socket_splice_state socket_splice_run(struct socket_splice *c);

/* Returns whether both directions have ended in order. */
bool socket_splice_is_over(const struct socket_splice *c);
