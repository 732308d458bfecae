/* supervisor -- runs one named sandbox and serves all its clients.
 *
 * The supervisor is one process with one poll(2) loop and no thread.  It has the
 * registry's entry, the running instance, the dispatcher of actions, the jobs, and up
 * to CLIENTS_MAX connections (docs/control.md).  It never blocks on a client: the data
 * that may wait for a client is limited, and a client that does not read is
 * disconnected at that limit.
 *
 * The loop reads the clock before and after poll(2), and after each step that may block
 * (supervisor_look_at_clock()).  All functions that it calls, and the callbacks of the
 * instance and the jobs, use that time, now_ms.
 *
 * 	supervisor.c	the loop, and the sandbox's end
 * 	clients.c	connections: incoming lines, outgoing answers and events
 * 	methods.c	the methods of the protocol, with methods_exec.c and others
 * 	clocks.c	the time limits that end the sandbox
 * 	lease.c		ties the sandbox to one connection
 * 	main_process.c	starts the main process, whose end is the sandbox's end
 * 	samples.c	reports of consumption
 * 	net.c		rules about connections
 * 	pause.c		stops all processes for a while
 * 	outputs.c	the output of processes; outputs_tell.c sends it to clients */
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
#include "supervisor/main_process.h"
#include "supervisor/net.h"
#include "supervisor/outputs.h"
#include "supervisor/pause.h"
#include "supervisor/peer.h"
#include "supervisor/samples.h"
#include "supervisor/supervisor_log.h"

struct consumption;
struct saved_spec;
struct launch;

#define CLIENTS_MAX 128
/* The most requests of one client that may be unanswered at a time. */
#define CLIENT_REQUESTS 256
/* A client is sent more output and events only while at most this many bytes wait for
 * it. */
#define CLIENT_HIGH (1u << 20)
/* A client is disconnected when more bytes of observations than this wait for it. */
#define CLIENT_WAITING (64u << 20)

struct client {
	struct connection conn;
	struct connection_fds early; /* descriptors that came with `hello`; they belong
				      * to the next request */
	struct dispatcher_client dispatcher;
	char name[24]; /* the client's name in the audit log, and for actions that give
			* no `client` */
	bool has_hello, is_stream, is_closing, has_events;
	bool holds_main;   /* the client has a request `logs` that the main process waits
			    * for; at the end of the sandbox the supervisor waits, too */
	bool answers_asks; /* the client answers questions about connections */
	bool is_user; /* the client has made a request that counts as use of the
		       * sandbox */
	size_t under_way;
	uint64_t next_event; /* with has_events: number of the next event to send */
	struct viewer *viewers;		/* owned; the processes whose output is sent to
					 * the client */
	struct log_reader *log_readers; /* owned; the client's requests `logs` in
					 * progress */
	int64_t stuck_ms; /* since when the client reads none of the data that waits for
			   * it; 0: none waits */
};

/* How the sandbox has ended; see docs/control.md, "How it ended". */
struct ending {
	const char *reason; /* NULL: the sandbox has not ended */
	int exit_code;
	const char *limit; /* the limit that ended the sandbox, or NULL */
	struct err error;  /* the error that ended the sandbox; kind ERR_NONE: none */
};

/* The outcome of a start, which is written to the process that waits for it. */
struct start_report {
	struct err error; /* kind ERR_NONE: the sandbox is ready */
	int exit_code;	  /* of the process that waits */
};

/* A client that has asked for the sandbox's end and waits for it. */
struct mourner {
	struct client *client;
	char *request; /* owned; the id of the client's request */
	struct mourner *next;
};

struct supervisor {
	int64_t now_ms; /* the loop's present time, in ms of clock.h */
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
	struct main_process main;
	struct limits limits; /* the present limits: the policy's, or as changed by the
			       * method `update` */
	int ready; /* owned: a pipe for the outcome of the start; -1: the outcome was
		    * written */

	struct instance instance;
	struct dispatcher dispatcher;
	struct jobs jobs;
	struct outputs outputs;
	struct events events;
	struct supervisor_log supervisor_log;
	enum registry_status status;
	bool is_restart; /* a kept sandbox was started again: its saved spec stays even
			  * if that fails */
	bool is_stopping, has_landlock;
	bool leaves_nothing; /* --rm: no record and no log stay after the end */
	bool has_ended; /* the sandbox has ended: every further request gets an error */
	bool has_left;  /* a client has used up its time in this turn, and has more
			 * lines */
	struct ending ending;
	struct mourner *mourners; /* owned; the clients that wait for the sandbox's end */

	int listener; /* owned; the control socket */
	struct peer_self self;
	int64_t deaf_ms; /* no connection is accepted before this time, since no
			  * descriptor was free */
	struct client *clients[CLIENTS_MAX]; /* owned; the connected clients */
	size_t client_count;
	uint64_t client_number;
	struct pause pause;
	struct net net; /* the rules about connections */
};

/* Serves the sandbox's clients until the sandbox has ended.  Then its entry in the
 * registry is marked as ended too. */
void supervisor_run(struct supervisor *s);

/* --- between its parts ------------------------------------------------------ */

/* Sets now_ms and the dispatcher's time to the present.  If the sandbox is in use, its
 * idle time begins again. */
void supervisor_look_at_clock(struct supervisor *s);
void supervisor_set_status(struct supervisor *s, enum registry_status status);
void supervisor_event(struct supervisor *s, const char *name, const char *more);
/* To be called when everything is started: tells the process that waits for it. */
void supervisor_ready(struct supervisor *s);
/* Kills the sandbox and notes the reason.  If there is a reason already, that one
 * stays. */
void supervisor_end(struct supervisor *s, const char *reason, int exit_code,
		    const char *limit, const struct err *e);
/* Renames the sandbox, in the registry and in its info. */
int supervisor_rename(struct supervisor *s, const char *name, struct err *e);
/* Returns the sandbox's info as in docs/control.md; JSON, allocated. */
char *supervisor_info(const struct supervisor *s);
/* Returns the limits as in the info, {"memory":...}; allocated. */
char *supervisor_limits(const struct supervisor *s);
/* Returns the answer to the method `stats`; JSON, allocated. */
char *supervisor_stats(const struct supervisor *s);
/* Gets the sandbox's present consumption, from its cgroup or else by adding up its
 * processes. */
void supervisor_consumption(const struct supervisor *s, struct consumption *ret);

void clients_accept(struct supervisor *s);
/* Adds a client with the connection `fd`, which it takes over; peer_check() has
 * accepted it. */
void clients_add(struct supervisor *s, int fd);
/* Sends the event `params` to all subscribed clients that have room for it.  The event
 * is not kept. */
void clients_tell(struct supervisor *s, const char *params);
/* Fills in one pollfd entry for each client. */
void clients_watch(const struct supervisor *s, struct pollfd *w);
void clients_serve(struct supervisor *s, const struct pollfd *w);
/* Handles what clients have sent and sends what is ready for them.  True: there was
 * something to do. */
bool clients_work(struct supervisor *s);
/* To be called when the sandbox has ended: sends clients the rest of their data, for a
 * limited time, and closes all connections.  Clients that the main process has waited for
 * are waited for without a limit. */
void clients_part(struct supervisor *s);
void clients_done(struct supervisor *s);

/* Answer a client's request, with a result or an error. */
void client_result(struct client *c, const char *id, const char *result);
void client_error(struct client *c, const char *id, int code, const struct err *e);
/* Tells the client that a process which it has started has ended. */
void client_exited(struct supervisor *s, struct client *c, struct job *j);

/* Handles a client's request.  Returns 0, or an enum rpc_code and *e.  Descriptors that
 * it keeps are removed from `fds`. */
struct rpc_request;
int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct connection_fds *fds, struct err *e);
/* Sets the callbacks in s->jobs (jobs.h). */
void methods_init_jobs(struct supervisor *s);
/* To be called once, when the sandbox has ended: sends an error to all clients that
 * still wait for a process. */
void methods_end_jobs(struct supervisor *s);
