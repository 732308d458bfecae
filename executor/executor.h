/* executor -- pid 1 of a sandbox, as one value.
 *
 * executor_serve() says hello and then answers the supervisor until there is a reason
 * to end: the supervisor asked for that, its last command ended, it closed the channel,
 * or it broke a rule of docs/protocol.md.  The process should then exit, whereupon the
 * kernel ends all others of the pid namespace. */
#pragma once
#include <stdbool.h>

#include "executor/edit/undo.h"
#include "executor/ending.h"
#include "executor/port_connect.h"
#include "executor/process/all_processes.h"
#include "executor/process/freezer.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/process/workers.h"
#include "executor/session/output_log.h"
#include "executor/session/sessions.h"
#include "executor/wire/channel.h"
#include "executor/wire/send_queue.h"

struct err;

/* The requests that are permitted depend on the phase (requests.c). */
enum phase {
	PHASE_READY = 1, /* hello was sent; no command was asked for yet */
	PHASE_BUSY = 2,	 /* commands were asked for; they may have ended */
	PHASE_LAST = 4,	 /* the last command was asked for */
	PHASE_ENDING = 8, /* all processes were asked to end */
};

struct executor {
	struct channel channel;
	struct processes processes;
	struct sessions sessions;
	struct workers workers; /* errands and linters */
	struct port_connect port_connect;	/* connections to ports inside */
	struct send_queue replies; /* answers of sessions, of errands and about files */
	struct user user;
	struct undo undo; /* earlier contents of edited files */
	struct all_processes all_processes;
	struct freezer freezer;
	uint32_t
		told_stopped; /* the last value of all_processes.stopped that was reported
			       * to the supervisor */
	uint64_t others; /* the capabilities that commands of users other than root may
			  * get */
	struct output_logs output_logs; /* the output logs */
	unsigned phase; /* an enum phase */
	int signals;	/* owned; signalfd(2) of SIGCHLD */
	int proc;	/* owned; the procfs (tree.h); -1: none */
	int64_t now;	/* the time of this step of the loop, in ms of clock.h */
	struct ending ending;
};

/* Sets signal dispositions and mask as every command should find them, but blocks
 * SIGCHLD, which the executor reads from a signalfd(2); begins a session of its own;
 * becomes undumpable, so that no process inside can trace the executor.  Returns -1 with
 * *e set. */
int executor_protect(struct err *e);

/* Returns the children that lead the session of a terminal; the caller frees the result
 * with leaders_done(). */
struct leaders executor_leaders(const struct executor *x);

/* Returns the time of this step of the loop by all_processes_now(), which time-outs of
 * actions use. */
int64_t executor_now(const struct executor *x);

/* Begins pause `number`, in which a tracer stops all processes; with 0, ends it and lets
 * them go on. */
int executor_freeze(struct executor *x, uint32_t number, struct err *e);

/* Begins to end: the executor ends when no other process is left, or when the grace has
 * passed; a later call may shorten the grace. */
int executor_stop(struct executor *x, uint32_t grace_ms, struct err *e);

/* Serves the supervisor until the sandbox ends.  Takes over the socket, `proc` (tree.h)
 * and `logs` (output_log.h), which are -1 if there are none; `others` are the
 * capabilities that commands of users other than root may get (caps.h).  Returns 0 when
 * the sandbox has come to its proper end. */
int executor_serve(int channel, int proc, int logs, uint64_t others, struct err *e);
