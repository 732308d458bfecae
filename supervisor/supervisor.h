/* supervisor -- runs one sandbox that has a name, for all its clients.
 *
 * One process, one poll(2), no thread.  The supervisor holds the registry's
 * entry, the running instance, the dispatcher for actions, the jobs, and up to
 * CLIENTS_MAX connections of docs/control.md.  The supervisor waits for no
 * client: the data that a client does not read is bounded, and a client for
 * which too much waits is disconnected.
 *
 * The loop reads the clock before poll(2), when that has returned, and behind a
 * step that may block (supervisor_look_at_clock()); all that it calls, also
 * through the callbacks of an instance and of jobs, uses that time, now_ms.
 *
 *	supervisor.c	the loop, and how it ends
 *	clients.c	connections: lines in, answers and events out
 *	methods.c	what each method does, with methods_exec, _start and _update.c
 *	clocks.c	which deadlines end the sandbox
 *	lease.c		a sandbox that ends with a connection
 *	samples.c	reports of what the sandbox uses
 *	pause.c		while everything inside stands still
 *	outputs.c	output of processes, and outputs_tell.c its clients */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/dispatcher.h"
#include "policy/policy.h"
#include "protocol/message.h"
#include "sandbox/launch/instance.h"
#include "sandbox/state/registry.h"
#include "supervisor/clocks.h"
#include "supervisor/connection.h"
#include "supervisor/events.h"
#include "supervisor/jobs.h"
#include "supervisor/lease.h"
#include "supervisor/outputs.h"
#include "supervisor/pause.h"
#include "supervisor/peer.h"
#include "supervisor/samples.h"
#include "supervisor/supervisor_log.h"

struct consumption;
struct saved_spec;
struct launch;

#define CLIENTS_MAX 128
/* The most requests of one client that may have no answer yet. */
#define CLIENT_REQUESTS 256
/* A client gets output and events while no more bytes than this wait for it. */
#define CLIENT_HIGH (1u << 20)
/* A client for which more bytes of observations than this wait is disconnected. */
#define CLIENT_WAITING (64u << 20)

struct client {
	struct connection conn;
	struct connection_fds early; /* descriptors that came with hello, for the
				      * request after it */
	struct dispatcher_client dispatcher;
	char name[24]; /* the client's name for actions that give no `client` */
	bool has_hello, is_stream, is_closing, has_events;
	bool is_user; /* the client uses the sandbox, beyond asking for its state */
	size_t under_way;
	uint64_t next_event; /* with has_events: number of the next event to be sent to
			      * the client */
	struct viewer *viewers;		/* owned; the processes whose output the client
					 * gets (outputs.h) */
	struct log_reader *log_readers; /* owned; the client's requests for logs */
	int64_t stuck_ms; /* since when the client takes none of the waiting data; 0: none
			   * waits */
};

/* How the sandbox ended; docs/control.md, "How it ended". */
struct ending {
	const char *reason; /* NULL: it has not ended */
	int exit_code;
	const char *limit; /* the limit that ended the sandbox, or NULL */
	struct err error;  /* the error that ended the sandbox; kind ERR_NONE: none */
};

/* A client that asked for the end, and waits for it. */
struct mourner {
	struct client *client;
	char *request; /* owned; the id of the client's request */
	struct mourner *next;
};

struct supervisor {
	int64_t now_ms; /* the time of this step of the loop, by clock.h */
	struct launch *launch;		/* borrowed; the launched sandbox, already
					 * started */
	struct registry_entry *entry;	/* borrowed; the sandbox's entry in the
					 * registry */
	struct saved_spec *saved_spec;	/* borrowed; the saved spec of --keep; NULL:
					 * none */
	char *created;			/* owned; when the sandbox was made, as text */
	struct clocks clocks;
	struct lease lease;
	struct samples samples;
	struct limits limits; /* the policy's, until a client updates them */
	int ready; /* owned: gets the outcome when the sandbox is ready or has failed; -1:
		    * has got it */

	struct instance instance;
	struct dispatcher dispatcher;
	struct jobs jobs;
	struct outputs outputs;
	struct events events;
	struct supervisor_log supervisor_log;
	enum registry_status status;
	bool is_restart; /* the sandbox was started again: its saved spec stays in any
			  * case */
	bool is_stopping, has_landlock;
	bool has_ended; /* no request can wait for anything any more, and gets an error
			 * that says so */
	bool has_left;  /* a client's share of the turn was used up, and lines of it
			 * wait */
	struct ending ending;
	struct mourner *mourners; /* owned; the clients that wait for the sandbox's end */

	int listener; /* owned; the control socket */
	struct peer_self self;
	int64_t deaf_ms; /* no connection is accepted until then: there was no descriptor
			  * left */
	struct client *clients[CLIENTS_MAX]; /* owned; the connected clients */
	size_t client_count;
	uint64_t client_number;
	struct pause pause;
};

/* Serves the sandbox's clients until the sandbox has ended; the registry's entry is
 * ended then. */
void supervisor_run(struct supervisor *s);

/* --- between its parts ------------------------------------------------------ */

/* Sets now_ms and the dispatcher's time.  If the sandbox is in use at this time, it
 * counts as in use until now. */
void supervisor_look_at_clock(struct supervisor *s);
void supervisor_set_status(struct supervisor *s, enum registry_status status);
void supervisor_event(struct supervisor *s, const char *name, const char *more);
/* Kills the instance, for a reason.  The reason that is given first counts. */
void supervisor_end(struct supervisor *s, const char *reason, int exit_code,
		    const char *limit, const struct err *e);
/* Renames the sandbox, also in its info. */
int supervisor_rename(struct supervisor *s, const char *name, struct err *e);
/* Returns the info of docs/control.md, allocated. */
char *supervisor_info(const struct supervisor *s);
/* Returns the limits as the info has them, {"memory":...}, allocated. */
char *supervisor_limits(const struct supervisor *s);
/* Returns the answer to the method `stats`, allocated. */
char *supervisor_stats(const struct supervisor *s);
/* Reads what the sandbox uses now, from the cgroup or else from the processes. */
void supervisor_consumption(const struct supervisor *s, struct consumption *ret);

void clients_accept(struct supervisor *s);
/* Adds a client: a connection of the owner's; takes the descriptor over. */
void clients_add(struct supervisor *s, int fd);
/* Sends the event in `params`, which is not kept, to clients that have
 * subscribed and read. */
void clients_tell(struct supervisor *s, const char *params);
/* Fills in the places for poll(2), one for each client. */
void clients_watch(const struct supervisor *s, struct pollfd *w);
void clients_serve(struct supervisor *s, const struct pollfd *w);
/* Does all for the clients that can be done now.  True: there was something to do. */
bool clients_work(struct supervisor *s);
/* Called when the sandbox has ended: writes the waiting data as far as clients take
 * it, for a while; then closes all connections. */
void clients_part(struct supervisor *s);
void clients_done(struct supervisor *s);

/* These answer a client's request, at once or one that was under way. */
void client_result(struct client *c, const char *id, const char *result);
void client_error(struct client *c, const char *id, int code, const struct err *e);
/* Tells the client that a process of its own has ended. */
void client_exited(struct supervisor *s, struct client *c, struct job *j);

/* Handles a client's request.  Returns 0, or an enum rpc_code and *e.  Takes out of
 * `fds` the descriptors that it keeps. */
struct rpc_request;
int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct connection_fds *fds, struct err *e);
/* Sets the callbacks of jobs.h. */
void methods_init_jobs(struct supervisor *s);
/* Called once, when the sandbox has ended: clients that wait for a process get an
 * error. */
void methods_end_jobs(struct supervisor *s);
