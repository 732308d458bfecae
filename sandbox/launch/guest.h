/* guest -- a running sandbox, as its supervisor sees it.
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
 * Frames go to `take`, unless `is_full` says that no more can be taken now;
 * guest_take() goes on then.  When pid 1 is gone, the kernel has killed and
 * reaped every process of its pid namespace (zap_pid_ns_processes()); frames
 * that were sent before are taken first.
 *
 * The cause of the end is decided once: the first one counts. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/launch/channel.h"

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
	GUEST_LOST_ROOT,     /* the server of its root has ended (fuse.h) */
	GUEST_UNPROTECTED,   /* sentry.h */
	GUEST_LOST_DEPUTY,   /* its deputy has ended (deputy.h) */
	GUEST_DIED	     /* by itself or by a foreign signal: see `status` */
};

enum { GUEST_CHANNEL, GUEST_FAILURE, GUEST_PID, GUEST_SERVER, GUEST_HOST, GUEST_REFUSALS,
       GUEST_DEPUTY, GUEST_PORTS, GUEST_POLLS };

struct guest {
	struct sandbox *sandbox; /* borrowed; freshly spawned */
	uint64_t watched_memory; /* bytes; 0: memory is not watched */

	void *who; /* borrowed; the argument of these: */
	/* A frame other than "hello".  -1: it breaks the protocol. */
	int (*take)(void *who, const struct frame *f, struct err *e);
	bool (*is_full)(void *who); /* may be NULL: never */
	struct ports *ports;	    /* borrowed; NULL: none can be published */
	struct sentry *sentry;	    /* borrowed; NULL: nothing is watched */
	/* The sentry has noticed a change; NULL: the sandbox is ended then. */
	void (*unprotected)(void *who, const struct err *why);
	/* A call was refused, in this session of the inside (refusals_take());
	 * may be NULL. */
	void (*refused)(void *who, const struct refused_call *c, pid_t session);

	struct channel channel;
	enum guest_state state;
	enum guest_cause cause;
	struct err error; /* of every cause but ENDED */
	int status;	  /* GONE: as waitpid(2) has it */
	struct rusage used; /* GONE: of pid 1 and all processes that it has waited for */

	bool is_closed; /* the executor has closed its end of the channel */
	int64_t closed_ms, look_ms; /* when they are due; 0: never */
};

/* To be called after sandbox, watched_memory and the callbacks were filled in. */
void guest_init(struct guest *g, int64_t now);
void guest_done(struct guest *g);

/* Fills in GUEST_POLLS places.  A process inside whose call is refused waits
 * for guest_serve(): so the caller must not wait for the inside in between. */
void guest_watch(const struct guest *g, struct pollfd *w);
/* Called after poll(2), with these same places. */
void guest_serve(struct guest *g, const struct pollfd *w, int64_t now);

/* Takes frames that are here already.  True: there was one. */
bool guest_take(struct guest *g);

/* Writes requests as far as the channel takes them. */
void guest_flush(struct guest *g);

/* When guest_expire() has something to do, in ms of clock.h; 0: never. */
int64_t guest_due(const struct guest *g);
void guest_expire(struct guest *g, int64_t now);

/* Kills pid 1, and with it every process inside. */
void guest_end(struct guest *g);
/* The same, because the executor broke the protocol. */
void guest_broke_protocol(struct guest *g, struct err *e);

static inline bool guest_is_over(const struct guest *g)
{
	return g->state >= GUEST_ENDING;
}
