/* client -- a connection to a sandbox's control socket (docs/control.md).
 *
 *	client_open		connects
 *	client_send		a request; client_await for its answer
 *	client_done
 *
 * The hello goes out with the first request, in one piece, and its answer is awaited
 * with the first other answer.
 *
 * Who has more to wait for than answers polls `fd`, calls client_fill() and takes
 * messages one by one with client_next(); client_greet() before that.
 *
 * The server is our own, but another hutch may be installed by now: all that it says
 * is checked (reply.h), and a line is bounded. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/pass.h"
#include "sandbox/cli/reply.h"
#include "sandbox/registry.h"

struct err;

#define CLIENT_PROTOCOL 1
#define CLIENT_LINE_MAX (32u << 20)
/* How long a supervisor that lives may take to say hello, or to read. */
#define CLIENT_PATIENCE_MS 5000

struct message {
	unsigned id;	     /* of the request that it answers; 0: a notification */
	struct reply error;  /* of an answer: none when it is a result */
	struct reply result;
	struct reply method, params; /* of a notification */
};

struct client_fds {
	int fds[PASS_MAX]; /* the caller's */
	size_t count;
};

struct client {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1]; /* of the sandbox, once it was greeted */
	int fd;			      /* owned; blocking */
	unsigned last_id;	      /* of the requests; 1 is hello */
	bool has_said_hello, is_greeted;
	bool is_closed;	 /* the server's end */
	bool is_bound;	 /* that it closes means the end of the sandbox, which is waited for */
	bool is_stuck;	 /* it did not answer hello, or does not read */
	int patience_ms;
	int64_t due_ms;	 /* answers are waited for until then (clock.h); 0: for ever */
	int exit_code;	 /* what hutch ends with, after an error */
	struct buffer in;
	size_t searched; /* of `in`: no newline up to here */
	size_t taken;	 /* of `in`: a line that was handed out */

	void *who; /* borrowed; for notifications that come while one waits */
	void (*take)(void *who, const struct message *m);
};

/* NAME's sandbox.  On failure there is nothing to release. */
int client_open(struct client *c, const char *name, struct err *e);
/* The same over a connection that is there already; takes it over. */
void client_over(struct client *c, int fd, const char *name);
void client_done(struct client *c);

/* Sends a request; `params` is a JSON object, or NULL for none.  Its id, which is not
 * 0, or -1. */
int client_send(struct client *c, const char *method, const char *params, struct err *e);
/* The same with descriptors beside it, which stay the caller's; NULL: none. */
int client_send_fds(struct client *c, const char *method, const char *params,
		    const struct client_fds *fds, struct err *e);

/* Waits for the answer to hello: a supervisor that is stuck, or of another version, is
 * told apart from one that has much to do for the request. */
int client_greet(struct client *c, struct err *e);

/* Waits for the answer to one request; notifications go to `take`.  An answer that is
 * an error is one.  The result is good until the next call. */
int client_await(struct client *c, int id, struct reply *ret, struct err *e);

/* Both in one. */
int client_call(struct client *c, const char *method, const char *params, struct reply *ret,
		struct err *e);

/* Reads what is there, without waiting.  1: some; 0: nothing now; -1 with an error;
 * at the end of the connection it is_closed, which is no error here. */
int client_fill(struct client *c, struct err *e);

/* The next message that is here whole: 1; 0: none is.  It is good until the next
 * call. */
int client_next(struct client *c, struct message *ret, struct err *e);

/* The server has closed: what became of the sandbox, as an error. */
int client_ended(struct client *c, struct err *e);

/* The err that an answer's error is; -1. */
int client_refused(struct client *c, struct reply error, struct err *e);
