/* stats_poll -- asks many sandboxes at once how much they use.
 *
 * All supervisors work at the same time, so a slow one delays only its own
 * answer; a sandbox that has not answered in time is unknown. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
	const char *name; /* borrowed; the sandbox to ask */
	bool is_known;
	double cpu_s;
	int64_t memory, memory_limit, pids, pids_limit; /* -1: the value is unknown, or
							 * there is no limit */
	bool is_summed;	 /* the values are sums over processes, since there is no
			  * cgroup */
	int64_t when_us; /* the time of the answer, in µs (clock.h) */
};

/* Asks the sandboxes for their use, and fills in `count` samples in at most about
 * `ms` milliseconds. */
void gather(struct sample *samples, size_t count, int ms);
