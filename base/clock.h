/* clock -- time that goes on evenly: CLOCK_MONOTONIC, which cannot fail on Linux. */
#pragma once
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
