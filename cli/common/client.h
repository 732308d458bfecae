/* client -- a connection to a sandbox's control socket (docs/control.md).
 *
 *	client_open		connects
 *	client_send		sends a request; client_await waits for its answer
 *	client_done
 *
 * The hello goes out with the first request, in one piece, and its answer is awaited
 * with the first other answer.
 *
 * A caller that waits for other events, too, calls client_greet() first, polls `fd`,
 * calls client_fill() and takes messages one by one with client_next().
 *
 * The server is our own, but another version may be installed by now: all of its bytes
 * are checked (json_view.h), and a line is bounded. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/fd_pass.h"
#include "cli/common/json_view.h"
#include "sandbox/state/registry.h"

struct err;

#define CLIENT_PROTOCOL 1
#define CLIENT_LINE_MAX (32u << 20)
/* How long a live supervisor may take to answer hello, or to read from its socket, in
 * ms. */
#define CLIENT_PATIENCE_MS 5000

struct message {
	unsigned id;	     /* the number of the answered request; 0: the message is a
			      * notification */
	struct json_view error;  /* of an answer: the error; no value if the answer is
				  * a result */
	struct json_view result;
	struct json_view method, params; /* of a notification: its method and params */
};

struct client_fds {
	int fds[FD_PASS_MAX]; /* the caller's: descriptors that are sent with a request */
	size_t count;
};

struct client {
	char name[REGISTRY_NAME_MAX + 1];
	char id[REGISTRY_ID_LEN + 1]; /* the sandbox's id, known after the answer to
				       * hello */
	int fd;			      /* owned: the socket, which is blocking */
	unsigned last_id;	      /* the number of the last request; 1 is hello */
	bool has_said_hello, is_greeted;
	bool is_closed;	 /* the server has closed its end */
	bool is_bound;	 /* when the connection ends, the sandbox ends, too; the client
			  * then waits for the record of that end */
	bool is_stuck;	 /* the supervisor did not answer hello in time, or does not
			  * read */
	int patience_ms;
	int64_t due_ms;	 /* the time until which answers are awaited (clock.h); 0: for
			  * ever */
	bool prints;	 /* `take` prints on stdout: waiting for an answer ends, too, when
			  * stdout has no reader any more (report_unread()) */
	int exit_code;	 /* the exit code that hutch gets after an error */
	struct buffer in;
	size_t searched; /* the length of the part of `in` that was searched for a newline
			  * and has none */
	size_t taken;	 /* the length of the line in `in` that was handed out */

	/* Called for each notification that arrives while an answer is awaited; NULL:
	 * notifications are dropped. */
	void *context; /* borrowed */
	void (*take)(void *context, const struct message *m);
};

/* Connects to the sandbox NAME.  On failure there is nothing to release. */
int client_open(struct client *c, const char *name, struct err *e);
/* Makes of an error that no sandbox of this name was found one that suggests the nearest
 * name, or says that its changes alone are kept, unless a sandbox has ended that had it.
 * Returns -1. */
int client_absent(const char *name, struct err *e);
/* Makes a client of an existing connection to the sandbox NAME, which is taken over. */
void client_over(struct client *c, int fd, const char *name);
void client_done(struct client *c);

/* Sends a request; `params` is a JSON object, or NULL for none.  Returns the
 * request's id, which is not 0, or -1. */
int client_send(struct client *c, const char *method, const char *params, struct err *e);
/* Sends a request with descriptors, which stay the caller's; NULL: none. */
int client_send_fds(struct client *c, const char *method, const char *params,
		    const struct client_fds *fds, struct err *e);

/* Waits for the answer to hello, with a short time-out, so that the caller can tell
 * a stuck supervisor, or one of another version, from a supervisor that is busy with
 * a request. */
int client_greet(struct client *c, struct err *e);

/* Waits for the answer to one request; notifications go to `take`.  Returns -1 with
 * the error if the answer is an error.  *ret is valid until the next call. */
int client_await(struct client *c, int id, struct json_view *ret, struct err *e);

/* Sends a request and waits for its answer. */
int client_call(struct client *c, const char *method, const char *params,
		struct json_view *ret, struct err *e);

/* Reads without waiting.  Returns 1 if bytes came; 0 if none are there now, or the
 * connection has ended, which is_closed tells; -1 with an error. */
int client_fill(struct client *c, struct err *e);

/* Gets the next complete message, which is valid until the next call.  Returns 1, or
 * 0 if there is none. */
int client_next(struct client *c, struct message *ret, struct err *e);

/* Called when the supervisor has closed the connection: returns -1 with an error
 * that tells the end of the sandbox. */
int client_ended(struct client *c, struct err *e);

/* Turns the error of an answer into `e`; returns -1. */
int client_refused(struct client *c, struct json_view error, struct err *e);
