/* stream -- carries bytes from one socket to another in the kernel, by splice(2) through
 * a pipe.
 *
 * A stream has a pipe only while bytes are on the way: it takes one from the pool, and
 * gives it back when the pipe is empty.  So a connection that is idle has two descriptors
 * and no buffer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_POOL 16 /* empty pipes that are kept for the next stream */
#define STREAM_TURN \
	(256u << 10) /* bytes that one call moves at most, so that one
				  * connection does not delay the others */

struct stream_pool {
	int pipes[STREAM_POOL][2]; /* owned */
	size_t count;
};

struct stream {
	int pipe[2];	/* owned: read end, write end; -1: no bytes are on the way */
	size_t held;	/* bytes in the pipe */
	uint64_t bytes; /* bytes that have arrived at `to` */
	uint64_t limit; /* bytes that may be taken from `from` in all */
	bool has_ended; /* `from` has sent its last byte */
	bool is_shut;	/* `to` was told so (shutdown(2)) */
};

enum stream_news {
	STREAM_WAITS, /* until a socket is ready again */
	STREAM_MORE,  /* STREAM_TURN bytes were moved, and there may be more */
	STREAM_DONE,  /* all bytes have arrived, and `to` is shut for writing */
	STREAM_BROKE  /* a socket was reset, or no pipe could be made */
};

void stream_pool_done(struct stream_pool *p);

/* The stream has no limit. */
void stream_init(struct stream *s);
void stream_done(struct stream *s);

/* Moves what can be moved without blocking.  Both sockets are non-blocking. */
enum stream_news stream_move(struct stream *s, struct stream_pool *pool, int from,
			     int to);
