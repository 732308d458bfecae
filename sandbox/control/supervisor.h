/* supervisor -- sees to one sandbox that has a name, for all its clients.
 *
 * One process, one poll(2), no thread.  It holds the registry's entry, the running
 * guest, the desk for actions, the jobs, and up to CLIENTS_MAX connections of
 * docs/control.md.  Nobody is waited for: what a client does not take away is
 * bounded, and one for which too much waits is let go.
 *
 * The loop reads the clock before poll(2), when that has returned, and behind a step that may
 * block (supervisor_look_at_clock()); all that it calls, also through the callbacks of a guest
 * and of jobs, has that time in now_ms.
 *
 *	supervisor.c	the loop, and how it ends
 *	clients.c	connections: lines in, answers and events out
 *	methods.c	what each method does, with methods_exec, _start and _update.c
 *	clocks.c	when it ends because of the time
 *	lease.c		one that ends with a connection
 *	samples.c	what it uses, told now and then
 *	still.c		while everything inside stands still
 *	outputs.c	what processes print, and outputs_tell.c who is told */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h"
#include "policy/policy.h"
#include "sandbox/act/desk.h"
#include "sandbox/control/clocks.h"
#include "sandbox/control/events.h"
#include "sandbox/control/jobs.h"
#include "sandbox/control/journal.h"
#include "sandbox/control/lease.h"
#include "sandbox/control/outputs.h"
#include "sandbox/control/peer.h"
#include "sandbox/control/samples.h"
#include "sandbox/control/still.h"
#include "sandbox/control/wire.h"
#include "sandbox/guest.h"
#include "sandbox/registry.h"

struct consumption;
struct definition;
struct launch;

#define CLIENTS_MAX 128
/* Requests of one client that have no answer yet. */
#define CLIENT_REQUESTS 256
/* Output and events are told while no more than this waits for a client. */
#define CLIENT_HIGH (1u << 20)
/* A client for which more observations than this wait is let go. */
#define CLIENT_WAITING (64u << 20)

struct client {
	struct wire wire;
	struct wire_fds early; /* came with hello, for the request behind it */
	struct desk_client desk;
	char name[24]; /* whose actions without a `client` are */
	bool has_hello, is_stream, is_closing, has_events;
	bool is_user; /* it asked for more than how the sandbox is, which is no use of it */
	size_t under_way;
	uint64_t next_event; /* has_events */
	struct viewer *viewers;		/* owned; outputs.h */
	struct log_reader *log_readers; /* owned */
	int64_t stuck_ms; /* since when it takes nothing of what waits; 0: nothing does */
};

/* Why it ended; docs/control.md, "How it ended". */
struct ending {
	const char *reason; /* NULL: it has not */
	int exit_code;
	const char *limit; /* or NULL */
	struct err error;  /* kind ERR_NONE: none */
};

/* Somebody who asked for the end. */
struct mourner {
	struct client *client;
	char *request; /* owned */
	struct mourner *next;
};

struct supervisor {
	int64_t now_ms; /* of this step of the loop, by clock.h */
	struct launch *launch;		/* borrowed; started */
	struct registry_entry *entry;	/* borrowed */
	struct definition *definition;	/* borrowed: of --keep; NULL: none */
	char *created;			/* owned */
	struct clocks clocks;
	struct lease lease;
	struct samples samples;
	struct limits limits; /* the policy's, until somebody updates them */
	int ready; /* owned: told when the sandbox is ready, or why not; -1 */

	struct guest guest;
	struct desk desk;
	struct exec shell;
	struct list shell_argv;
	struct jobs jobs;
	struct outputs outputs;
	struct events events;
	struct journal journal;
	enum registry_status status;
	bool is_again; /* it has lived before: what is kept of it stays in any case */
	bool is_stopping, has_landlock;
	bool has_ended; /* nobody can be waited for any more: what is asked is told so */
	bool has_left;  /* a client's share of the turn was over, and lines of it wait */
	struct ending ending;
	struct mourner *mourners; /* owned */

	int listener; /* owned */
	struct peer_self self;
	int64_t deaf_ms; /* nobody is let in until then: there was no descriptor left */
	struct client *clients[CLIENTS_MAX]; /* owned */
	size_t client_count;
	uint64_t client_number;
	struct still still;
};

/* Serves until the sandbox has ended; the entry is ended then. */
void supervisor_run(struct supervisor *s);

/* --- between its parts ------------------------------------------------------ */

/* Sets now_ms and the desk's time.  A sandbox that is in use at this time is not idle before
 * it. */
void supervisor_look_at_clock(struct supervisor *s);
void supervisor_set_status(struct supervisor *s, enum registry_status status);
void supervisor_event(struct supervisor *s, const char *name, const char *more);
/* What is decided first counts; the guest is killed. */
void supervisor_end(struct supervisor *s, const char *reason, int exit_code,
		    const char *limit, const struct err *e);
/* Another name, in the info too. */
int supervisor_rename(struct supervisor *s, const char *name, struct err *e);
/* The info of docs/control.md, allocated. */
char *supervisor_info(const struct supervisor *s);
/* As info has the limits, {"memory":...}, allocated. */
char *supervisor_limits(const struct supervisor *s);
/* The answer to stats, allocated. */
char *supervisor_stats(const struct supervisor *s);
/* What is used now, by the cgroup or else by the processes. */
void supervisor_consumption(const struct supervisor *s, struct consumption *ret);

void clients_accept(struct supervisor *s);
/* A connection of the owner's, whose descriptor is taken over. */
void clients_add(struct supervisor *s, int fd);
/* The event in `params`, which is not kept, to those who have subscribed and read. */
void clients_tell(struct supervisor *s, const char *params);
/* Places for poll(2): one for each client. */
void clients_watch(const struct supervisor *s, struct pollfd *w);
void clients_serve(struct supervisor *s, const struct pollfd *w);
/* All that can be done now.  True: there was something. */
bool clients_work(struct supervisor *s);
/* The sandbox has ended: what waits for them is written as far as they take it, for a
 * while; then all are gone. */
void clients_part(struct supervisor *s);
void clients_done(struct supervisor *s);

/* Answers a request that was under way, or is answered at once. */
void client_result(struct client *c, const char *id, const char *result);
void client_error(struct client *c, const char *id, int code, const struct err *e);
/* Tells it that a process of its own has ended. */
void client_exited(struct supervisor *s, struct client *c, struct job *j);

/* Does a request; 0, or an enum rpc_code and *e.  What it keeps of `fds` it takes
 * out. */
struct rpc_request;
int methods_call(struct supervisor *s, struct client *c, struct rpc_request *r,
		 struct wire_fds *fds, struct err *e);
/* The callbacks of jobs.h. */
void methods_init_jobs(struct supervisor *s);
/* The sandbox has ended: who waits for a process is told so.  To be called once. */
void methods_end_jobs(struct supervisor *s);
