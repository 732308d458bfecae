/* countdown -- by when a command has to end, and how often it may be asked to.
 *
 *	its time-out is over		it is ended
 *	SIGTERM or SIGHUP came to us	it has COUNTDOWN_GRACE_MS to end by itself, as with
 *					docker, and is ended then; a second one gives no more
 *	SIGINT came to us		the command gets it; at the third one it is ended
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

/* This signal came to us.  True: the command may be asked with it; false: it was asked
 * often enough. */
bool countdown_signal(struct countdown *c, int signo, int64_t now);

/* When the next of them is over; 0: never. */
int64_t countdown_due(const struct countdown *c);

/* Tells a time that is over at `now`.  Each is told once, the time-out first. */
enum countdown_end countdown_expire(struct countdown *c, int64_t now);
