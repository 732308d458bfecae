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
/* Requests of one client that have no answer yet. */
#define CLIENT_REQUESTS 256
/* A client gets output and events while no more than this waits for it. */
#define CLIENT_HIGH (1u << 20)
/* A client for which more observations than this wait is disconnected. */
#define CLIENT_WAITING (64u << 20)

struct client {
	struct connection conn;
	struct connection_fds early; /* came with hello, for the request after it */
	struct dispatcher_client dispatcher;
	char name[24]; /* the client's name for actions that give no `client` */
	bool has_hello, is_stream, is_closing, has_events;
	bool is_user; /* the client uses the sandbox, beyond asking for its state */
	size_t under_way;
	uint64_t next_event; /* with has_events: the next one to be sent */
	struct viewer *viewers;		/* owned; outputs.h */
	struct log_reader *log_readers; /* owned */
	int64_t stuck_ms; /* since when the client takes none of the waiting data; 0: none
			   * waits */
};

/* How the sandbox ended; docs/control.md, "How it ended". */
struct ending {
	const char *reason; /* NULL: it has not ended */
	int exit_code;
	const char *limit; /* or NULL */
	struct err error;  /* kind ERR_NONE: none */
};

/* A client that asked for the end, and waits for it. */
struct mourner {
	struct client *client;
	char *request; /* owned */
	struct mourner *next;
};

struct supervisor {
	int64_t now_ms; /* of this step of the loop, by clock.h */
	struct launch *launch;		/* borrowed; started */
	struct registry_entry *entry;	/* borrowed */
	struct saved_spec *saved_spec;	/* borrowed: of --keep; NULL: none */
	char *created;			/* owned */
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
	bool is_restart; /* started again: its saved spec stays in any case */
	bool is_stopping, has_landlock;
	bool has_ended; /* no request can wait for anything any more, and gets an error
			 * that says so */
	bool has_left;  /* a client's share of the turn was used up, and lines of it
			 * wait */
	struct ending ending;
	struct mourner *mourners; /* owned */

	int listener; /* owned */
	struct peer_self self;
	int64_t deaf_ms; /* no connection is accepted until then: there was no descriptor
			  * left */
	struct client *clients[CLIENTS_MAX]; /* owned */
	size_t client_count;
	uint64_t client_number;
	struct pause pause;
};

/* Serves until the sandbox has ended; the entry is ended then. */
void supervisor_run(struct supervisor *s);

/* --- between its parts ------------------------------------------------------ */

/* Sets now_ms and the dispatcher's time.  If the sandbox is in use at this time, it
 * counts as in use until now. */
void supervisor_look_at_clock(struct supervisor *s);
void supervisor_set_status(struct supervisor *s, enum registry_status status);
void supervisor_event(struct supervisor *s, const char *name, const char *more);
/* Kills the instance.  The reason that is given first counts. */
void supervisor_end(struct supervisor *s, const char *reason, int exit_code,
		    const char *limit, const struct err *e);
/* Renames the sandbox, also in the info. */
int supervisor_rename(struct supervisor *s, const char *name, struct err *e);
/* The info of docs/control.md, allocated. */
char *supervisor_info(const struct supervisor *s);
/* The limits as the info has them, {"memory":...}, allocated. */
char *supervisor_limits(const struct supervisor *s);
/* The answer to stats, allocated. */
char *supervisor_stats(const struct supervisor *s);
/* The present use, read from the cgroup or else from the processes. */
void supervisor_consumption(const struct supervisor *s, struct consumption *ret);

void clients_accept(struct supervisor *s);
/* Adds a connection of the owner's; takes the descriptor over. */
void clients_add(struct supervisor *s, int fd);
/* Sends the event in `params`, which is not kept, to clients that have
 * subscribed and read. */
void clients_tell(struct supervisor *s, const char *params);
/* Places for poll(2): one for each client. */
void clients_watch(const struct supervisor *s, struct pollfd *w);
void clients_serve(struct supervisor *s, const struct pollfd *w);
/* Does all that can be done now.  True: there was something. */
bool clients_work(struct supervisor *s);
/* The sandbox has ended: writes the waiting data as far as clients take it, for
 * a while; then closes all connections. */
void clients_part(struct supervisor *s);
void clients_done(struct supervisor *s);

/* Answers a request, at once or one that was under way. */
void client_result(struct client *c, const char *id, const char *result);
void client_error(struct client *c, const char *id, int code, const struct err *e);
/* Tells the client that a process of its own has ended. */
void client_exited(struct supervisor *s, struct client *c, struct job *j);

/* Handles a request.  Returns 0, or an enum rpc_code and *e.  Takes out of
 * `fds` the descriptors that it keeps. */
struct rpc_request;
int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct connection_fds *fds, struct err *e);
/* The callbacks of jobs.h. */
void methods_init_jobs(struct supervisor *s);
/* The sandbox has ended: clients that wait for a process get an error.  To be
 * called once. */
void methods_end_jobs(struct supervisor *s);
