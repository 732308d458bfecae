/* countdown -- when a command has to end, and how often it may be interrupted.
 *
 *	its time-out is over		hutch ends the command
 *	hutch gets SIGTERM or SIGHUP	the command has COUNTDOWN_GRACE_MS to end by
 *					itself, as with docker, and is ended then; a
 *					second signal gives no more time
 *	hutch gets SIGINT		the command gets it too; the third one ends it
 *
 * All times are in ms of clock.h.  The zero object has no time-out. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define COUNTDOWN_GRACE_MS   10000
#define COUNTDOWN_INTERRUPTS 3

struct countdown {
	/* when the time-out ends, and when the grace ends, in ms of clock.h; 0: never */
	int64_t deadline_ms, grace_ms;
	int interrupts;
};

enum countdown_end { COUNTDOWN_RUNS, COUNTDOWN_TIMED_OUT, COUNTDOWN_GRACE_OVER };

/* Starts the countdown at `now`; `timeout_ms` 0: there is no time-out. */
void countdown_start(struct countdown *c, uint64_t timeout_ms, int64_t now);

/* Notes that hutch got the signal `signo`.  True: the command may be sent the signal
 * too; false: the command was interrupted often enough and is to be ended. */
bool countdown_signal(struct countdown *c, int signo, int64_t now);

/* Returns the end of the time-out or of the grace, whichever comes first; 0: neither
 * runs. */
int64_t countdown_due(const struct countdown *c);

/* Tells whether the time-out or the grace is over at `now`.  Each of the two is reported
 * once, the time-out first. */
enum countdown_end countdown_expire(struct countdown *c, int64_t now);
