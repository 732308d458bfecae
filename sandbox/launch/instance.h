/* instance -- a running sandbox, as its supervisor sees it.
 *
 *	instance_init
 *	in a loop:
 *		instance_watch, then poll(2) until instance_due() at most,
 *		instance_serve and instance_expire with the time after poll(2),
 *		instance_flush after each request that was queued
 *	instance_done
 *
 *	state		leaves it when
 *	STARTING	"hello" came, after the network of
 *			rules, if there is one			-> READY
 *	STARTING or	the supervisor ends it, the channel
 *	READY		closed, the protocol was broken		-> ENDING
 *	any		pid 1 was reaped			-> GONE
 *
 * Until hutch-gate has connected the sandbox's network, the channel is not read, and holds
 * the requests: the executor starts meanwhile, and no program of the sandbox does.
 *
 * The executor's frames are passed to the callback `take`.  While the callback `is_full`
 * returns true, frames wait; instance_take() passes them later.  When pid 1 is gone, the
 * kernel has killed and reaped every process of its pid namespace
 * (zap_pid_ns_processes()); frames that these processes had sent are still passed to
 * `take` before the state becomes GONE.
 *
 * The first cause of the sandbox's end is kept; later ones are ignored. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/launch/channel.h"

struct egress;
struct egress_news;
struct frame;
struct ports;
struct refused_call;
struct sandbox;
struct protect_watch;

enum instance_state { INSTANCE_STARTING, INSTANCE_READY, INSTANCE_ENDING, INSTANCE_GONE };

enum instance_cause {
	INSTANCE_RUNS,
	INSTANCE_ENDED,	     /* instance_end() was called */
	INSTANCE_NOT_SET_UP,    /* setting the sandbox up failed (spawn.c); `error` says
				 * which stage failed and why */
	INSTANCE_BROKE_PROTOCOL,
	INSTANCE_OUT_OF_MEMORY, /* the watchdog saw more memory in use than allowed
				 * (watchdog.h) */
	INSTANCE_LOST_ROOT,     /* the process that serves the sandbox's root has ended
				 * (root_fuse.h) */
	INSTANCE_UNPROTECTED,   /* the host has replaced a protected file
				 * (protect_watch.h) */
	INSTANCE_LOST_BROKER,   /* the sandbox's broker has ended (broker.h) */
	INSTANCE_DIED	     /* pid 1 exited, or a signal from outside killed it: see
			      * `status` */
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
	INSTANCE_NETWORK,
	INSTANCE_EGRESS,
	INSTANCE_POLLS
};

struct instance {
	struct sandbox *sandbox; /* borrowed; freshly spawned */
	uint64_t watched_memory; /* the memory limit that hutch itself enforces, in
				  * bytes; 0: memory is not watched */

	void *context; /* borrowed: the first argument of the callbacks below */
	/* Takes a frame other than "hello".  Returns -1 if the frame breaks the
	 * protocol. */
	int (*take)(void *context, const struct frame *f, struct err *e);
	bool (*is_full)(
		void *context);	    /* tells whether frames must wait (instance_take());
				     * NULL: they never wait */
	struct ports *ports;	    /* borrowed: the published ports; NULL: no port can
				     * be published */
	struct protect_watch *protect_watch; /* borrowed; NULL: no protected file is
					      * watched */
	/* Called when the host has replaced a protected file; NULL: the sandbox is ended
	 * then. */
	void (*unprotected)(void *context, const struct err *why);
	/* Called when the filter has refused a system call; `session` is the session
	 * leader of the calling process (denials_take()).  May be NULL. */
	void (*refused)(void *context, const struct refused_call *c, pid_t session);
	struct egress *egress; /* borrowed; NULL: the sandbox has no network of rules */
	/* Takes what hutch-egress says.  May be NULL. */
	void (*egress_news)(void *context, const struct egress_news *n, int64_t now);

	struct channel channel;
	enum instance_state state;
	enum instance_cause cause;
	struct err error; /* why the sandbox ended; set for every cause but
			   * INSTANCE_ENDED */
	int status;	  /* in state GONE: pid 1's wait status, as waitpid(2) has it */
	struct rusage used; /* in state GONE: the resources used by pid 1 and by all
			     * processes that it has waited for */

	/* A report of the executor, that a command has ended, waits until hutch-egress
	 * has told of the connections that were refused meanwhile. */
	enum { SYNC_NONE, SYNC_ASKED, SYNC_TOLD } sync;
	uint32_t sync_id; /* the number of the last question */
	int64_t sync_ms;  /* until when the report waits; 0: none does */
	int64_t now;	  /* of the turn, in ms of clock.h */

	bool is_closed; /* the executor has closed its end of the channel */
	/* when the executor must have ended, and when memory is measured next, in ms of
	 * clock.h; 0: never */
	int64_t closed_ms, look_ms;
};

/* Starts watching the sandbox; to be called after sandbox, watched_memory and the
 * callbacks were set. */
void instance_init(struct instance *g, int64_t now);
void instance_done(struct instance *g);

/* Fills in INSTANCE_POLLS entries for poll(2).  A process inside whose system call is
 * refused waits until instance_serve() is called, so between the two calls the caller
 * must not wait for processes inside. */
void instance_watch(const struct instance *g, struct pollfd *w);
/* Handles the events that poll(2) has reported in the entries of instance_watch(). */
void instance_serve(struct instance *g, const struct pollfd *w, int64_t now);

/* Passes frames that were read already, and had to wait, to `take`.  Returns whether
 * there was one. */
bool instance_take(struct instance *g);

/* Sends queued requests, as far as the channel takes them. */
void instance_flush(struct instance *g);

/* Returns when instance_expire() has something to do, in ms of clock.h; 0: never. */
int64_t instance_due(const struct instance *g);
void instance_expire(struct instance *g, int64_t now);

/* Kills pid 1, and with it every process inside. */
void instance_end(struct instance *g);
/* Kills pid 1, and with it every process inside, because the executor broke the
 * protocol; `e` says how. */
void instance_broke_protocol(struct instance *g, struct err *e);

static inline bool instance_is_over(const struct instance *g)
{
	return g->state >= INSTANCE_ENDING;
}
