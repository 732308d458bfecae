/* instance -- a running sandbox, as its supervisor sees it.
 *
 *	instance_init
 *	in a loop: instance_watch, poll(2) until instance_due() at most, instance_serve,
 *		instance_expire, both at the time when poll(2) has returned; instance_flush
 *		after each request was written
 *	instance_done
 *
 *	state		leaves it when
 *	STARTING	"hello" came				-> READY
 *	both		the supervisor ends it, the channel
 *			closed, the protocol was broken		-> ENDING
 *	any		pid 1 was reaped			-> GONE
 *
 * Frames go to `take`, unless `is_full` says that no more can be taken now;
 * instance_take() goes on then.  When pid 1 is gone, the kernel has killed and
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
struct protect_watch;

enum instance_state { INSTANCE_STARTING, INSTANCE_READY, INSTANCE_ENDING, INSTANCE_GONE };

enum instance_cause {
	INSTANCE_RUNS,
	INSTANCE_ENDED,	     /* by instance_end() */
	INSTANCE_NOT_SET_UP,    /* `error` tells which stage of spawn.c */
	INSTANCE_BROKE_PROTOCOL,
	INSTANCE_OUT_OF_MEMORY, /* watchdog.h */
	INSTANCE_LOST_ROOT,     /* the server of its root has ended (root_fuse.h) */
	INSTANCE_UNPROTECTED,   /* protect_watch.h */
	INSTANCE_LOST_BROKER,   /* its broker has ended (broker.h) */
	INSTANCE_DIED	     /* by itself or by a foreign signal: see `status` */
};

enum {
	INSTANCE_CHANNEL,
	INSTANCE_FAILURE,
	INSTANCE_PID,
	INSTANCE_SERVER,
	INSTANCE_HOST,
	INSTANCE_DENIALS,
	INSTANCE_BROKER,
	INSTANCE_PORTS,
	INSTANCE_POLLS
};

struct instance {
	struct sandbox *sandbox; /* borrowed; freshly spawned */
	uint64_t watched_memory; /* bytes; 0: memory is not watched */

	void *who; /* borrowed; the argument of these: */
	/* A frame other than "hello".  -1: it breaks the protocol. */
	int (*take)(void *who, const struct frame *f, struct err *e);
	bool (*is_full)(void *who); /* may be NULL: never */
	struct ports *ports;	    /* borrowed; NULL: none can be published */
	struct protect_watch *protect_watch; /* borrowed; NULL: nothing is watched */
	/* The protection watch has noticed a change; NULL: the sandbox is ended then. */
	void (*unprotected)(void *who, const struct err *why);
	/* A call was refused, in this session of the inside (denials_take());
	 * may be NULL. */
	void (*refused)(void *who, const struct refused_call *c, pid_t session);

	struct channel channel;
	enum instance_state state;
	enum instance_cause cause;
	struct err error; /* of every cause but ENDED */
	int status;	  /* GONE: as waitpid(2) has it */
	struct rusage used; /* GONE: of pid 1 and all processes that it has waited for */

	bool is_closed; /* the executor has closed its end of the channel */
	int64_t closed_ms, look_ms; /* when they are due; 0: never */
};

/* To be called after sandbox, watched_memory and the callbacks were filled in. */
void instance_init(struct instance *g, int64_t now);
void instance_done(struct instance *g);

/* Fills in INSTANCE_POLLS places.  A process inside whose call is refused waits
 * for instance_serve(): so the caller must not wait for the inside in between. */
void instance_watch(const struct instance *g, struct pollfd *w);
/* Called after poll(2), with these same places. */
void instance_serve(struct instance *g, const struct pollfd *w, int64_t now);

/* Takes frames that are here already.  True: there was one. */
bool instance_take(struct instance *g);

/* Writes requests as far as the channel takes them. */
void instance_flush(struct instance *g);

/* When instance_expire() has something to do, in ms of clock.h; 0: never. */
int64_t instance_due(const struct instance *g);
void instance_expire(struct instance *g, int64_t now);

/* Kills pid 1, and with it every process inside. */
void instance_end(struct instance *g);
/* The same, because the executor broke the protocol. */
void instance_broke_protocol(struct instance *g, struct err *e);

static inline bool instance_is_over(const struct instance *g)
{
	return g->state >= INSTANCE_ENDING;
}
