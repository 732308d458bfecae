/* handle -- the inside of a struct hutch, for all files of lib/.
 *
 * Theory of operation.
 *
 *	stage		waits for			then
 *	CREATING	`hutch create` to end		FINDING, or GREETING
 *	AWAITING_POOL	the answer of a pool's keeper	GREETING
 *	TAKING		`hutch pool take` to end	GREETING
 *	FINDING		`hutch connect` to end		OPEN: `hutch connect` has greeted
 *	GREETING	the answer to hello		OPEN
 *	OPEN		the connection to end		OVER
 *	OVER		nothing
 *
 * Every failure leads to OVER, with the reason in `why`.
 *
 * The epoll set `io` has every descriptor that the handle waits for: the helper's
 * pidfd, then the socket, and a timer for the greeting of a supervisor or a keeper.
 * Waiting threads poll `io` and a descriptor of their own, without the lock.  The
 * first thread that gets the lock reads what has come, and wakes the threads whose
 * answers were in it (wait.h).  `loop`, which an event loop polls, contains `io` and
 * `ready`; `ready` is readable as long as the queue has a message.
 *
 * The packet for an answer is allocated with the call, so that the end of the
 * connection can be reported even when memory has run out. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "base/fd_pass.h"
#include "hutch.h"
#include "lib/helper.h"
#include "sandbox/state/registry.h"

struct json_view;

#define QUEUE_MAX (16u << 20)
#define HELLO	  1

enum stage { CREATING, TAKING, FINDING, AWAITING_POOL, GREETING, OPEN, OVER };

/* A message, and the line from which it borrows its texts. */
struct packet {
	struct hutch_message m; /* first, since the caller gets a pointer to it */
	struct packet *next;
	char *line; /* owned */
	char *data; /* owned: data, decoded from base64 */
	size_t size;
	bool is_done;	    /* of an answer: the answer has come, or will never come */
	bool is_waited;	    /* of a call: a thread waits for the answer, and will free
			     * this packet */
	bool is_forgotten;  /* of a call: no thread waits any longer; the answer is
			     * dropped when it comes */
	bool wants_end;	    /* of a call: it starts a process for hutch_run(), which also
			     * waits for the process's end */
	char method[24];    /* of a call: the method's name */
};

/* A thread that waits for an answer, for the end of a process, or for any message. */
struct waiter {
	struct waiter *next;
	const struct packet *call; /* the call whose answer the thread waits for; NULL:
				    * any message */
	struct packet *end;	   /* owned: the event `exited`, once it has come */
	int wake;		   /* owned: an eventfd, which wakes the thread */
};

/* A request that is to be sent, or the rest of one of which a part was sent. */
struct chunk {
	struct chunk *next;
	long long id; /* the number of the call */
	size_t len, sent;
	int fds[FD_PASS_MAX]; /* owned: descriptors that go with the first byte */
	size_t fd_count;
	char bytes[];
};

struct reader {
	char *bytes; /* owned: the bytes that were read */
	size_t start, end, room;
	size_t searched; /* offset from `start` up to which no newline was found */
};

struct hutch {
	char *mine;	      /* a page that is "" in a child of fork(2) (madvise(2),
			       * MADV_WIPEONFORK) */
	pthread_mutex_t lock; /* held by a thread that uses the members below */
	char name[REGISTRY_NAME_MAX + 1];
	char *program; /* owned: the path or name of the program `hutch` */
	int notes;     /* owned: the descriptor that `hutch` writes notes for people to;
			* -1: none */
	enum stage stage;
	struct hutch_error why; /* in the stage OVER: the reason */

	struct helper helper;
	int socket, timer, io, loop, ready; /* owned; -1: none */
	int handed;	  /* owned: the connection to a sandbox that a keeper has sent;
			   * -1: none */
	bool is_greeted;  /* the hello was sent, or sending it was tried: the timer
			   * runs */
	bool is_shown;	  /* `ready` is readable */
	bool has_backlog; /* lines have been read that could not be handled, since there
			   * was no memory */
	bool is_handed;	  /* hutch_act_stream() has the socket */

	int64_t last_id;
	struct chunk *out; /* owned: the requests to be sent, in that order */
	bool awaits_room;  /* `io` watches the socket for EPOLLOUT */
	struct reader in;

	struct packet *calls; /* owned: calls under way, and answers that no waiter has
			       * taken yet */
	struct packet *queue, *last; /* owned: the first and the last message that
				      * waits for hutch_next() */
	size_t queued;		     /* bytes of the messages in the queue */
	uint64_t missed;
	struct packet *end, *opened; /* owned: the messages HUTCH_ENDED and
				      * HUTCH_READY, made with the handle so that they
				      * need no memory later */
	struct waiter *waiters;	     /* the waiting threads; each struct is on its
				      * thread's stack */
};

/* handle_enter() takes the lock; it returns -1 in a child of fork(2).  handle_leave()
 * releases the lock, and returns `rc` unchanged. */
int handle_enter(struct hutch *h, struct hutch_error *e);
int handle_leave(struct hutch *h, int rc);

/* handle_watch() adds a descriptor to `io`, for EPOLLIN; handle_rewatch() adds or
 * removes EPOLLOUT; handle_drop() removes the descriptor and closes it. */
int handle_watch(struct hutch *h, int fd, struct hutch_error *e);
void handle_rewatch(struct hutch *h, int fd, bool writes);
void handle_drop(struct hutch *h, int *fd);

/* Makes a handle that waits for nothing yet; it is closed with hutch_close(). */
struct hutch *handle_new(const char *name, const struct hutch_how *how,
			 struct hutch_error *e);

/* Sets the error that a keeper or helper passed a connection which the kernel closed
 * instead of installing it, since this process has too many descriptors (fd_pass.h).
 * Returns -1. */
int handle_lost(const struct hutch *h, struct hutch_error *e);

/* Gives the handle a new name; returns false if the name is not valid. */
bool handle_rename(struct hutch *h, struct json_view name);

/* Called when the connection can be used: marks the handle as open, and tells all
 * waiting threads. */
void handle_open(struct hutch *h);

/* Called when the handle has ended for the reason in h->why: ends every call with
 * that error, and tells all waiting threads. */
void handle_end(struct hutch *h);
