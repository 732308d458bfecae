/* clock -- time that goes on evenly: CLOCK_MONOTONIC, which cannot fail on Linux. */
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

/* Whether the time `due`, in ms of this clock, has come; 0: it never does. */
static inline bool clock_is_due(int64_t due)
{
	return due && clock_ms() >= due;
}

/* The earlier of two such times. */
static inline int64_t clock_sooner(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* How long poll(2) is to wait for it. */
static inline int clock_wait(int64_t due)
{
	int64_t left = due - clock_ms();

	if (!due)
		return -1;
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}
