/* clock -- CLOCK_MONOTONIC, the time that is never set back; reading it cannot fail
 * on Linux.
 *
 * A loop reads the clock before it computes the time-out of poll(2), after poll(2)
 * has returned, and after a step that may block.  It passes that `now` to every
 * function that it calls; no function below a loop reads the clock, and
 * tests/lint/clock.py refuses a read there.  Deadlines can then be tested with any
 * `now`, without waiting. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t clock_ms(void)
{
	return clock_us() / 1000;
}

/* Returns a time of any clock in ns, to be stored or compared. */
static inline int64_t clock_ns(const struct timespec *at)
{
	return (int64_t)at->tv_sec * 1000000000 + at->tv_nsec;
}

/* Returns whether the time `due` has come at `now`, both in ms of this clock; a
 * `due` of 0 never comes. */
static inline bool clock_is_due(int64_t due, int64_t now)
{
	return due && now >= due;
}

/* Returns the earlier of two times for clock_is_due(), of which 0, which never
 * comes, is the latest. */
static inline int64_t clock_sooner(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Returns the time-out in ms for a poll(2) that waits from `now` until `due`: -1, no
 * time-out, where `due` is 0, and an hour at most. */
static inline int clock_wait(int64_t due, int64_t now)
{
	int64_t left = due - now;

	if (!due)
		return -1;
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}
