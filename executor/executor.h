/* executor -- pid 1 of a sandbox: its state and its main loop.
 *
 * executor_serve() says hello and then answers the supervisor until there is a reason to
 * end: the supervisor asked for that, its last command ended, it closed the channel, or
 * it broke a rule of docs/protocol.md.  The process should then exit, whereupon the
 * kernel ends all others of the pid namespace. */
#pragma once
#include <stdbool.h>

#include "executor/edit/undo.h"
#include "executor/ending.h"
#include "executor/plugin/plugins.h"
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
	PHASE_READY = 1, /* hello was sent; no command was requested yet */
	PHASE_BUSY = 2,	 /* a command was requested; it may have ended */
	PHASE_LAST = 4,	 /* the sandbox's last command was requested */
	PHASE_ENDING = 8, /* the supervisor asked to end the sandbox */
};

struct executor {
	struct channel channel;
	struct processes processes;
	struct sessions sessions;
	struct workers workers; /* errands and linters */
	struct plugins plugins;
	struct port_connect port_connect;	/* connections to ports inside */
	struct send_queue replies; /* answers that wait to be sent to the supervisor */
	struct user user;
	struct undo undo; /* earlier contents of edited files, for undoing edits */
	struct all_processes all_processes;
	struct freezer freezer;
	/* the last value of all_processes.stopped that was reported to the supervisor */
	uint32_t reported_stopped;
	uint64_t others; /* the capabilities that commands of users other than root may
			  * get */
	struct output_logs output_logs; /* the output logs */
	unsigned phase; /* an enum phase */
	int signals;	/* owned; signalfd(2) of SIGCHLD */
	int proc;	/* owned; the root of the procfs (tree.h); -1: none */
	int64_t now;	/* when the clock was last read in this turn of the loop, in ms of
			 * clock.h */
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

/* Returns x->now without the time that pauses took (all_processes_now()).  The time-outs
 * of actions use this clock, so that they stand still during a pause. */
int64_t executor_now(const struct executor *x);

/* Begins pause `number`, in which a tracer stops all processes.  A `number` of 0 ends the
 * pause, and the processes go on. */
int executor_freeze(struct executor *x, uint32_t number, struct err *e);

/* Begins the sandbox's end: the executor exits when no other process is left, or when
 * `grace_ms` ms have passed.  A later call may shorten the grace period. */
int executor_stop(struct executor *x, uint32_t grace_ms, struct err *e);

/* Serves the supervisor until the sandbox ends.  Takes over the socket, `proc` (tree.h)
 * and `logs` (output_log.h), which are -1 if there are none; `others` are the
 * capabilities that commands of users other than root may get (caps.h).  Returns 0 when
 * the sandbox has come to its proper end. */
int executor_serve(int channel, int proc, int logs, uint64_t others, struct err *e);
