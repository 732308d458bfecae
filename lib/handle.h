/* handle -- what one struct hutch is made of, for all that is in lib/.
 *
 * Theory of operation.
 *
 *	stage		waits for			then
 *	CREATING	`hutch create` to end		FINDING, or GREETING
 *	ASKING		the answer of a pool's keeper	GREETING
 *	TAKING		`hutch pool take` to end	GREETING
 *	FINDING		`hutch connect` to end		OPEN: that one has greeted
 *	GREETING	the answer to hello		OPEN
 *	OPEN		the connection to end		OVER
 *	OVER		nobody
 *
 * Whatever fails on the way leads to OVER, with the reason in `why`.
 *
 * All that is waited for is in the epoll set `io`: the helper's pidfd, then the socket,
 * and a timer for the greeting of a supervisor or a keeper.  Threads that wait poll that,
 * and a descriptor each of their own, without the lock; whoever gets it first reads what
 * is there, and wakes those whose answers were in it (turn.h).  `loop`, which an event
 * loop polls, is `io` and `ready`, which can be read as long as something is in the queue.
 *
 * An answer's packet is made with its call, so that the end of the connection can be told
 * where no memory is left. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "hutch.h"
#include "base/pass.h"
#include "lib/helper.h"
#include "sandbox/registry.h"

struct reply;

#define QUEUE_MAX (16u << 20)
#define HELLO	  1

enum stage { CREATING, TAKING, FINDING, ASKING, GREETING, OPEN, OVER };

/* A message, and the line that it points into. */
struct packet {
	struct hutch_message m; /* first: it is what the caller has */
	struct packet *next;
	char *line; /* owned */
	char *data; /* owned: what was base64 */
	size_t size;
	bool is_done;	    /* of an answer: it is here, or will never be */
	bool is_waited;	    /* of a call: by a thread, which frees it */
	bool is_forgotten;  /* of a call: nobody wants its answer any more */
	bool wants_end;	    /* of a call that starts a process for hutch_run() */
	char method[24];    /* of a call */
};

/* A thread that waits: for an answer, for the end of a process, or for any message. */
struct waiter {
	struct waiter *next;
	const struct packet *call; /* NULL: for any message */
	struct packet *end;	   /* owned: the event `exited`, once it has come */
	int wake;		   /* owned: an eventfd */
};

/* What is to be sent. */
struct chunk {
	struct chunk *next;
	long long id; /* of the call */
	size_t len, sent;
	int fds[PASS_MAX]; /* owned; they go with the first byte */
	size_t fd_count;
	char bytes[];
};

struct inlet {
	char *bytes; /* owned */
	size_t start, end, room;
	size_t searched; /* from start: no newline up to here */
};

struct hutch {
	char *mine;	      /* a page; "": in a child (madvise(2), MADV_WIPEONFORK) */
	pthread_mutex_t lock; /* of all that follows */
	char name[REGISTRY_NAME_MAX + 1];
	char *program; /* owned */
	int notes;     /* owned, or -1 */
	enum stage stage;
	struct hutch_error why; /* OVER: how that came */

	struct helper helper;
	int socket, timer, io, loop, ready; /* owned; -1: none */
	int handed;	  /* owned: what a keeper has sent; -1: nothing */
	bool is_greeted;  /* hello was sent, or tried to: the timer runs */
	bool is_shown;	  /* `ready` can be read */
	bool has_backlog; /* lines are here that there was no memory for */
	bool is_handed;	  /* hutch_act_stream() has the socket */

	int64_t last_id;
	struct chunk *out; /* owned; the first one to be sent first */
	bool awaits_room;  /* in the socket, for that */
	struct inlet in;

	struct packet *calls; /* owned: under way, or not yet waited for */
	struct packet *queue, *last; /* owned */
	size_t queued;		     /* bytes of it */
	uint64_t missed;
	struct packet *end, *opened; /* owned: made with the handle, to be there */
	struct waiter *waiters;	     /* on their threads' stacks */
};

/* Takes the lock; -1 in a child.  handle_leave() lets go of it, and returns `rc`. */
int handle_enter(struct hutch *h, struct hutch_error *e);
int handle_leave(struct hutch *h, int rc);

/* Watches a descriptor in `io`, for EPOLLIN, or EPOLLOUT too; and no longer, closing
 * it. */
int handle_watch(struct hutch *h, int fd, struct hutch_error *e);
void handle_rewatch(struct hutch *h, int fd, bool writes);
void handle_drop(struct hutch *h, int *fd);

/* One that waits for nothing yet; closed with hutch_close(). */
struct hutch *handle_new(const char *name, const struct hutch_how *how,
			 struct hutch_error *e);

/* What was handed over is lost (pass.h), and has ended with that; -1. */
int handle_lost(const struct hutch *h, struct hutch_error *e);

/* It is called that from now on; false: it is no name. */
bool handle_rename(struct hutch *h, struct reply name);

/* It is open: whoever waits is told. */
void handle_open(struct hutch *h);

/* It is over.  With the reason in h->why: every call ends with that, and all is told. */
void handle_end(struct hutch *h);
