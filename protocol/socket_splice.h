/* socket_splice -- carries bytes between a stream socket and two pipes, both ways.
 *
 * A connection from the host to a port in the sandbox consists of two splices, one at
 * each side of the channel; pipes connect them:
 *
 *		host		      |			inside
 *	client -- socket -> out ======|=====> in -> socket -- server
 *			 <- in <======|====== out <-
 *
 * Bytes stay in the kernel (splice(2)). The bytes under way in one direction are
 * exactly those in its pipe. A full pipe stops the reading at its other end, so nothing
 * is dropped, no memory grows, and a slow peer delays no other connection. No call
 * blocks.
 *
 * The end of a pipe does not mean that the data is complete: a process that is killed
 * closes its pipes, too. A complete end is announced separately, over the channel: a
 * side that has closed `out` sends MSG_FINISH or MSG_FINISHED, and the side that
 * receives it calls socket_splice_finish(). Only then the end of `in` shuts the socket
 * down, so that a client never takes a torn stream for a whole one. If this process is
 * killed, the client gets a reset: the socket is set to reset on close, and only
 * socket_splice_done() takes that back.
 *
 *	socket_splice_init, socket_splice_watch
 *	socket_splice_take	when epoll(7) has an event
 *	socket_splice_run	while the last call has returned SOCKET_SPLICE_HAS_MORE
 *	socket_splice_done, or socket_splice_reset */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct epoll_event;

struct socket_splice {
	int socket;  /* owned; -1: closed, or never opened */
	int in, out; /* owned; the pipes to read from and to write to; -1: this direction
		      * has ended */
	bool is_in_dry;	  /* the pipe `in` has ended: it has no writer, and no bytes */
	bool is_in_whole; /* the other side has sent the message that `in` will have all
			   * bytes when it ends */
	bool is_unheard;  /* the pipe `out` has no reader any more */
	uint64_t in_bytes, out_bytes; /* bytes carried so far, in each direction */
	int epoll; /* borrowed; -1: socket_splice_watch() was not called */
	uint64_t tag;
	bool is_in_stuck; /* the pipe `in` has bytes for which the socket had no room */
	bool is_out_watched; /* the pipe `out` has no room for the socket's bytes, and epoll
			      * tells when it has */
	int sys;	  /* the errno, with SOCKET_SPLICE_BROKEN */
};

enum socket_splice_state {
	SOCKET_SPLICE_WAITS,	  /* nothing can be moved until the next event */
	SOCKET_SPLICE_HAS_MORE, /* more bytes could be moved, but other connections come
				 * first: call again, without an event */
	SOCKET_SPLICE_BROKEN,	  /* an error, in `sys`; the caller must call
				   * socket_splice_reset() */
};

/* Takes over the socket and both pipes, which must be non-blocking. */
void socket_splice_init(struct socket_splice *c, int socket, int in, int out);

/* Closes the open descriptors. The peer reads all delivered bytes, and then the end of
 * the stream. */
void socket_splice_done(struct socket_splice *c);
/* Closes the descriptors, and resets a TCP connection: bytes that are still in our
 * socket's queue are lost. A unix socket has no reset, and is just closed. */
void socket_splice_reset(struct socket_splice *c);

/* Lets an epoll instance, which must live longer, tell of each reason to call
 * socket_splice_take(), edge-triggered; called once.  The data of the events is the tag,
 * of which the last bit must be 0, and may be set in an event.  A descriptor leaves the
 * instance when it is closed.  False with errno set. */
#define SOCKET_SPLICE_PIPE (1ull << 63)
bool socket_splice_watch(struct socket_splice *c, int epoll, uint64_t tag);
/* Adds a socket that has taken the place of another one, which was watched. */
bool socket_splice_watch_socket(const struct socket_splice *c);

/* Notes that the other side's message has come: no bytes follow those in the pipe
 * `in`. */
void socket_splice_finish(struct socket_splice *c);

/* Moves as many bytes as can be moved now. */
enum socket_splice_state socket_splice_run(struct socket_splice *c);
/* Does the same after an event, which mostly tells of bytes in one direction: then the
 * other one is not tried. */
enum socket_splice_state socket_splice_take(struct socket_splice *c,
					    const struct epoll_event *event);

/* Returns whether both directions have ended completely. */
bool socket_splice_is_over(const struct socket_splice *c);
