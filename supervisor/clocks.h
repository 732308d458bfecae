/* clocks -- when a supervisor ends its sandbox because of the time, and why.
 *
 *	clock		runs from			until
 *	start		clocks_begin()			clocks_ready()
 *	time-out, ttl	clocks_run()			the end
 *	stop		clocks_stop()			the end
 *	idle		clocks_ready(), clocks_run(),
 *			and each clocks_use()		it is not idle any more
 *
 * A sandbox that waits to be handed out (lease.h) is made and becomes ready
 * before its time-out and ttl run.  All clocks go on in a pause. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How long a sandbox may take to become ready. */
#define CLOCKS_START_MS 60000

struct clocks {
	int64_t timeout_ms, ttl_ms, idle_ms; /* as asked for; 0: none */

	/* In ms of clock.h; 0: it does not run. */
	int64_t start_due, timeout_due, ttl_due, stop_due;
	int64_t idle_since;
};

enum clocks_end {
	CLOCKS_GO_ON, /* nothing is due */
	CLOCKS_START, CLOCKS_STOP, CLOCKS_TIMEOUT, CLOCKS_TTL, CLOCKS_IDLE,
	CLOCKS_COUNT
};

void clocks_begin(struct clocks *c, int64_t now);
void clocks_run(struct clocks *c, int64_t now);
void clocks_ready(struct clocks *c, int64_t now);
/* The executor has been told to stop, and the processes inside have `grace_ms`
 * to end. */
void clocks_stop(struct clocks *c, uint64_t grace_ms, int64_t now);
/* The sandbox is in use. */
void clocks_use(struct clocks *c, int64_t now);

/* When clocks_look() next has something to report; 0: never. */
int64_t clocks_due(const struct clocks *c, bool is_idle);
/* Why the sandbox is to be ended at `now`.  Several reasons may be due: the first of the
 * enum counts, but of time-out and ttl the earlier one. */
enum clocks_end clocks_look(const struct clocks *c, bool is_idle, int64_t now);
