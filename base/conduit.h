/* conduit -- carries bytes between a stream socket and two pipes, both ways.
 *
 * A connection to a port inside is two of these, one at each side of the channel:
 *
 *		host		      |			inside
 *	client -- socket -> out ======|=====> in -> socket -- server
 *			 <- in <======|====== out <-
 *
 * Bytes stay in the kernel (splice(2)).  What a pipe holds is all that is under way in
 * its direction; a full one stops the reading at its other end, so nothing is dropped,
 * nothing grows, and who is slow keeps back nobody else.  Nothing blocks.
 *
 * The end of a pipe says nothing: a process that was killed closes its pipes, too.  So
 * an end in order is said beside it, over the channel: when `out` has been closed, its
 * owner says so there, and conduit_finish() is called when the other side has said it.
 * Only then the end of `in` shuts the socket down; a client never takes what was torn
 * for what is whole.  Nor where we are killed: a socket is one that resets when it is
 * closed, but for conduit_done().
 *
 *	conduit_init, conduit_watch
 *	conduit_run	when epoll(7) has an event, and while it has more
 *	conduit_done, or conduit_reset */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct conduit {
	int socket;  /* owned; -1: it is over, or was never begun */
	int in, out; /* owned; -1: that direction has ended */
	bool is_in_dry;	  /* the pipe has ended */
	bool is_in_whole; /* in order, as the other side says */
	bool is_unheard;  /* nobody is left at the other end of `out` */
	uint64_t in_bytes, out_bytes; /* that went through */
	int sys;	  /* BROKEN: why, an errno */
};

enum conduit_state {
	CONDUIT_WAITS,	  /* for an event */
	CONDUIT_HAS_MORE, /* its share of the turn is over: without one */
	CONDUIT_BROKEN,	  /* to be reset */
};

/* Takes all three over; they do not block. */
void conduit_init(struct conduit *c, int socket, int in, int out);

/* Closes what is open: the peer sees the end of what was handed over. */
void conduit_done(struct conduit *c);
/* The same as a reset, which TCP carries: what is still in our socket's queue is lost.
 * A unix socket knows none, and is just closed. */
void conduit_reset(struct conduit *c);

/* Adds what is open to an epoll instance, edge-triggered: once, for good.  A descriptor
 * leaves it by being closed.  False with errno set. */
bool conduit_watch(const struct conduit *c, int epoll, uint64_t tag);

/* The other side has said that what is in `in` is all. */
void conduit_finish(struct conduit *c);

/* Moves what can be moved now. */
enum conduit_state conduit_run(struct conduit *c);

/* Both directions have ended in order. */
bool conduit_is_over(const struct conduit *c);
