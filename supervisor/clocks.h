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

/* How long in ms a sandbox may take to become ready. */
#define CLOCKS_START_MS 60000

struct clocks {
	int64_t timeout_ms, ttl_ms, idle_ms; /* the times that were asked for; 0: none */

	/* Times in ms of clock.h at which a clock ends or began; 0: the clock does not
	 * run. */
	int64_t start_due, timeout_due, ttl_due, stop_due;
	int64_t idle_since;
};

enum clocks_end {
	CLOCKS_GO_ON, /* no clock has run out */
	CLOCKS_START, CLOCKS_STOP, CLOCKS_TIMEOUT, CLOCKS_TTL, CLOCKS_IDLE,
	CLOCKS_COUNT
};

void clocks_begin(struct clocks *c, int64_t now);
void clocks_run(struct clocks *c, int64_t now);
void clocks_ready(struct clocks *c, int64_t now);
/* Called when the executor has been told to stop, and the processes inside have
 * `grace_ms` to end. */
void clocks_stop(struct clocks *c, uint64_t grace_ms, int64_t now);
/* Notes that the sandbox is in use, so the idle time begins again. */
void clocks_use(struct clocks *c, int64_t now);

/* Returns when clocks_look() next has something to report; 0: never. */
int64_t clocks_due(const struct clocks *c, bool is_idle);
/* Returns why the sandbox is to be ended at `now`.  Several reasons may be due: the
 * first of the enum counts, but of time-out and ttl the earlier one. */
enum clocks_end clocks_look(const struct clocks *c, bool is_idle, int64_t now);
