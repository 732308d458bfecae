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
	int64_t deadline_ms, grace_ms; /* 0: none */
	int interrupts;
};

enum countdown_end { COUNTDOWN_RUNS, COUNTDOWN_TIMED_OUT, COUNTDOWN_GRACE_OVER };

/* `timeout_ms` 0: none. */
void countdown_start(struct countdown *c, uint64_t timeout_ms, int64_t now);

/* hutch got this signal.  True: the command may be sent it too; false: it was
 * interrupted often enough. */
bool countdown_signal(struct countdown *c, int signo, int64_t now);

/* When the next of the two times is over; 0: never. */
int64_t countdown_due(const struct countdown *c);

/* Tells which time is over at `now`.  Each is told once, the time-out first. */
enum countdown_end countdown_expire(struct countdown *c, int64_t now);
