/* clocks -- the time limits after which a supervisor ends its sandbox, and the delay after
 * which it starts the main process again.
 *
 * 	clock		starts with		stops with
 * 	start		clocks_begin()		clocks_ready()
 * 	time-out, ttl	clocks_run()		the sandbox's end
 * 	stop		clocks_stop(), clocks_end()
 * 						the sandbox's end
 * 	idle		clocks_ready(), clocks_run(),
 * 			and each clocks_use()	the sandbox's use
 * 	restart		clocks_restart()	clocks_restart() with 0
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
	int64_t start_due, timeout_due, ttl_due, stop_due, restart_due;
	int64_t idle_since;
};

enum clocks_end {
	CLOCKS_GO_ON, /* no limit is reached */
	CLOCKS_START,
	CLOCKS_STOP,
	CLOCKS_TIMEOUT,
	CLOCKS_TTL,
	CLOCKS_IDLE,
	CLOCKS_RESTART, /* the main process is to be started again */
	CLOCKS_COUNT
};

void clocks_begin(struct clocks *c, int64_t now);
void clocks_run(struct clocks *c, int64_t now);
void clocks_ready(struct clocks *c, int64_t now);
/* To be called when the executor has been told to stop; the processes inside get
 * `grace_ms` to end. */
void clocks_stop(struct clocks *c, uint64_t grace_ms, int64_t now);
/* To be called when the main process has been asked to end: the sandbox ends after
 * `grace_ms`. */
void clocks_end(struct clocks *c, uint64_t grace_ms, int64_t now);
/* The main process is to be started again after `delay_ms`; 0: not any more. */
void clocks_restart(struct clocks *c, int64_t delay_ms, int64_t now);
/* Notes that the sandbox is in use, which restarts the idle clock. */
void clocks_use(struct clocks *c, int64_t now);

/* Returns when the next limit is reached; 0: never. */
int64_t clocks_due(const struct clocks *c, bool is_idle);
/* Returns the limit that was reached by `now`.  If there are several, the first one in
 * the enum counts; of time-out and ttl, the one that was reached earlier. */
enum clocks_end clocks_look(const struct clocks *c, bool is_idle, int64_t now);
