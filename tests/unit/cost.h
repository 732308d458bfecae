/* cost -- the processor time that a piece of code takes: getrusage(2), to which the other
 * load of the machine adds nothing. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>

/* Of this process so far, in microseconds. */
static inline int64_t cost_us(void)
{
	struct rusage use;

	(void)getrusage(RUSAGE_SELF, &use); /* fails only for another `who` */
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * INT64_C(1000000) +
	       use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}
