/* cost -- the processor time of a piece of code, by getrusage(2): other load on
 * the machine does not count. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>

/* Processor time of this process so far, in microseconds. */
static inline int64_t cost_us(void)
{
	struct rusage use;

	(void)getrusage(RUSAGE_SELF, &use); /* cannot fail with RUSAGE_SELF */
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000000) +
	       use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}
