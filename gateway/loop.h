/* loop -- the event loop of hutch-serve: descriptors by epoll(7), and timers.
 *
 * One thread runs the loop.  Each callback returns soon and never waits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* A descriptor that is watched.  The struct is the caller's, and stays at its place
 * between loop_watch() and loop_unwatch(). */
struct watch {
	int fd;
	void *context;
	void (*ready)(void *context, uint32_t events); /* events: those of epoll(7) */
};

/* A timer.  The struct is the caller's, like a watch; zeroed, it does not run. */
struct timer {
	int64_t due; /* in ms of clock.h; 0: it does not run */
	void *context;
	void (*expired)(void *context);
	struct timer *next;
};

struct loop {
	int epoll;	      /* owned */
	struct timer *timers; /* those that run */
	bool is_over;
	int64_t now;	   /* in ms of clock.h, read once a turn */
	uint64_t removals; /* counts loop_unwatch(): events that were fetched before one
			    * are fetched again */
};

int loop_init(struct loop *l, struct err *e);
void loop_done(struct loop *l);

/* Watches a descriptor for `events`, EPOLLIN and others; a second call for the same watch
 * changes the events. */
int loop_watch(struct loop *l, struct watch *w, uint32_t events, struct err *e);
void loop_unwatch(struct loop *l, struct watch *w);

/* Starts a timer, or starts it anew, from the turn's time on; 0 ms or less: it expires in the next
 * round. */
void loop_start(struct loop *l, struct timer *t, int64_t after_ms);
void loop_stop(struct loop *l, struct timer *t);

/* Calls the callbacks of the timers that are due at l->now. */
void loop_expire(struct loop *l);

/* Waits for events, at most `most_ms` (-1: without an end), and calls the callbacks of
 * those that came. */
int loop_step(struct loop *l, int most_ms, struct err *e);
