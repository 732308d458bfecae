/* executor -- pid 1 of a sandbox, as one value.
 *
 * executor_serve() says hello and then replies the supervisor until a reason to
 * end comes up: it asked for that, its last command ended, it closed the
 * channel, or it broke a rule of docs/protocol.md.  The process should then
 * exit, whereupon the kernel ends all others of the pid namespace. */
#pragma once
#include <stdbool.h>

#include "executor/replies.h"
#include "executor/channel.h"
#include "executor/dials.h"
#include "executor/ending.h"
#include "executor/everyone.h"
#include "executor/freezer.h"
#include "executor/history.h"
#include "executor/processes.h"
#include "executor/sessions.h"
#include "executor/tape.h"
#include "executor/user.h"
#include "executor/workers.h"

struct err;

/* What may be asked for depends on these (requests.c). */
enum phase {
	PHASE_READY = 1, /* hello was said; no command was asked for yet */
	PHASE_BUSY = 2,	 /* commands were asked for; they may have ended */
	PHASE_LAST = 4,	 /* the last command was asked for */
	PHASE_ENDING = 8, /* everyone was asked to end */
};

struct executor {
	struct channel channel;
	struct processes processes;
	struct sessions sessions;
	struct workers workers; /* errands, and linters */
	struct dials dials;	/* connections to ports inside */
	struct replies replies; /* of sessions, errands and about files */
	struct user user;
	struct history history; /* of what an editor changed */
	struct everyone everyone;
	struct freezer freezer;
	uint32_t told_stopped; /* what of everyone.stopped was said */
	uint64_t others; /* what capabilities others than root may get */
	struct tapes tapes; /* what commands print */
	unsigned phase; /* enum phase */
	int signals;	/* owned; signalfd(2) of SIGCHLD */
	int proc;	/* owned; tree.h; -1: none */
	int64_t now;	/* of this step of the loop, in ms of clock.h */
	struct ending ending;
};

/* Signal dispositions and mask as every command should find them, but SIGCHLD
 * blocked for the executor; a session of its own; not dumpable.  -1 and *e. */
int executor_protect(struct err *e);

/* Who is on a terminal; leaders_done(). */
struct leaders executor_leaders(const struct executor *x);

/* Everyone's time in this step of the loop (everyone.h), which is that of actions. */
int64_t executor_now(const struct executor *x);

/* Everyone is stopped by tracing them, or, with 0, let go on. */
int executor_freeze(struct executor *x, uint32_t number, struct err *e);

/* Ends when nobody is left, or when the grace has passed; one that is under way may
 * become shorter. */
int executor_stop(struct executor *x, uint32_t grace_ms, struct err *e);

/* Takes over the socket, `proc` (tree.h) and `logs` (tape.h), which are -1 where there
 * are none; `others` are the capabilities that commands of others than root may get
 * (caps.h).  0 when the sandbox has come to its proper end. */
int executor_serve(int channel, int proc, int logs, uint64_t others, struct err *e);
