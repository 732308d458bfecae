/* guest -- a sandbox that runs, as whoever supervises it sees it.
 *
 *	guest_init
 *	in a loop: guest_watch, poll(2) until guest_due() at most, guest_serve,
 *		guest_expire, both at the time when poll(2) has returned; guest_flush
 *		after each request was written
 *	guest_done
 *
 *	state		leaves it when
 *	STARTING	"hello" came				-> READY
 *	both		the supervisor ends it, the channel
 *			closed, the protocol was broken		-> ENDING
 *	any		pid 1 was reaped			-> GONE
 *
 * Frames go to `take`, as long as `is_full` does not say that nothing more can be
 * taken now; guest_take() goes on then.  When pid 1 is gone the kernel has killed
 * and reaped every process of its pid namespace (zap_pid_ns_processes()); what it
 * had said before is taken first.
 *
 * Why it ended is decided once: what came first counts. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/channel.h"

struct frame;
struct ports;
struct refused_call;
struct sandbox;
struct sentry;

enum guest_state { GUEST_STARTING, GUEST_READY, GUEST_ENDING, GUEST_GONE };

enum guest_cause {
	GUEST_RUNS,
	GUEST_ENDED,	     /* by guest_end() */
	GUEST_NOT_SET_UP,    /* `error` tells which stage of spawn.c */
	GUEST_BROKE_PROTOCOL,
	GUEST_OUT_OF_MEMORY, /* watchdog.h */
	GUEST_LOST_ROOT,     /* who serves it has ended (fuse.h) */
	GUEST_UNPROTECTED,   /* sentry.h */
	GUEST_LOST_DEPUTY,   /* who makes names for the inside has ended (deputy.h) */
	GUEST_DIED	     /* by itself or by a signal of somebody else: `status` */
};

enum { GUEST_CHANNEL, GUEST_FAILURE, GUEST_PID, GUEST_SERVER, GUEST_HOST, GUEST_REFUSALS,
       GUEST_DEPUTY, GUEST_PORTS, GUEST_POLLS };

struct guest {
	struct sandbox *sandbox; /* borrowed; freshly spawned */
	uint64_t watched_memory; /* bytes; 0: nobody looks */

	void *who; /* borrowed; for these */
	/* A frame other than "hello".  -1: it breaks the protocol. */
	int (*take)(void *who, const struct frame *f, struct err *e);
	bool (*is_full)(void *who); /* may be NULL: never */
	struct ports *ports;	    /* borrowed; NULL: none can be published */
	struct sentry *sentry;	    /* borrowed; NULL: nothing is watched */
	/* It has noticed something; NULL: the sandbox is ended. */
	void (*unprotected)(void *who, const struct err *why);
	/* A call was refused, in this session of the inside's (refusals_take()); may be
	 * NULL. */
	void (*refused)(void *who, const struct refused_call *c, pid_t session);

	struct channel channel;
	enum guest_state state;
	enum guest_cause cause;
	struct err error; /* of every cause but ENDED */
	int status;	  /* GONE: as waitpid(2) has it */
	struct rusage used; /* GONE: of pid 1 and all whom it has waited for */

	bool is_closed; /* the executor's end of the channel */
	int64_t closed_ms, look_ms; /* when something is due; 0: nothing */
};

/* After sandbox, watched_memory and the callbacks were filled in. */
void guest_init(struct guest *g, int64_t now);
void guest_done(struct guest *g);

/* Fills in GUEST_POLLS places.  Who is refused a call inside waits for guest_serve(): so
 * nobody may wait for the inside in between. */
void guest_watch(const struct guest *g, struct pollfd *w);
/* After poll(2), with these same places. */
void guest_serve(struct guest *g, const struct pollfd *w, int64_t now);

/* Frames that are here already.  True: there was one. */
bool guest_take(struct guest *g);

/* Writes requests as far as the channel takes them. */
void guest_flush(struct guest *g);

/* When guest_expire() has something to do, in ms of clock.h; 0: never. */
int64_t guest_due(const struct guest *g);
void guest_expire(struct guest *g, int64_t now);

/* Pid 1 is killed, and with it everything inside. */
void guest_end(struct guest *g);
/* The same, because the executor did what it must not. */
void guest_broke_protocol(struct guest *g, struct err *e);

static inline bool guest_is_over(const struct guest *g)
{
	return g->state >= GUEST_ENDING;
}
