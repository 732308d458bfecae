/* clocks -- the time limits after which a supervisor ends its sandbox.
 *
 * 	clock		starts with		stops with
 * 	start		clocks_begin()		clocks_ready()
 * 	time-out, ttl	clocks_run()		the sandbox's end
 * 	stop		clocks_stop()		the sandbox's end
 * 	idle		clocks_ready(), clocks_run(),
 * 			and each clocks_use()	the sandbox's use
 *
 * For a sandbox that waits for its first client (lease.h), clocks_run() is called only
 * when that client comes, so that time-out and ttl do not run before.  A pause stops no
 * clock. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How long in ms a sandbox may take to become ready. */
#define CLOCKS_START_MS 60000

struct clocks {
	int64_t timeout_ms, ttl_ms, idle_ms; /* the limits that the user has set; 0:
					      * none */

	/* When each limit is reached, in ms of clock.h; 0: that clock does not run. */
	int64_t start_due, timeout_due, ttl_due, stop_due;
	int64_t idle_since;
};

enum clocks_end {
	CLOCKS_GO_ON, /* no limit is reached */
	CLOCKS_START, CLOCKS_STOP, CLOCKS_TIMEOUT, CLOCKS_TTL, CLOCKS_IDLE,
	CLOCKS_COUNT
};

void clocks_begin(struct clocks *c, int64_t now);
void clocks_run(struct clocks *c, int64_t now);
void clocks_ready(struct clocks *c, int64_t now);
/* To be called when the sandbox has been told to stop, and gets `ms` to end. */
void clocks_stop(struct clocks *c, uint64_t ms, int64_t now);
/* Notes that the sandbox is in use, which restarts the idle clock. */
void clocks_use(struct clocks *c, int64_t now);

/* Returns when the next limit is reached; 0: never. */
int64_t clocks_due(const struct clocks *c, bool is_idle);
/* Returns the limit that was reached by `now`.  If there are several, the first one in
 * the enum counts; of time-out and ttl, the one that was reached earlier. */
enum clocks_end clocks_look(const struct clocks *c, bool is_idle, int64_t now);
