/* gather -- what many sandboxes use, asked of all at once.
 *
 * Supervisors work side by side, so that a slow one costs its own answer and no more:
 * who has not answered in time is unknown. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
	const char *name; /* borrowed; of the one to ask */
	bool is_known;
	double cpu_s;
	int64_t memory, memory_limit, pids, pids_limit; /* -1: unknown, or none */
	bool is_summed;	 /* over processes, since there is no cgroup */
	int64_t when_us; /* clock.h: when it was answered */
};

/* Fills in `count` of them.  It takes about `ms` at most. */
void gather(struct sample *samples, size_t count, int ms);
