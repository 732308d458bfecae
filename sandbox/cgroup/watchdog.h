/* watchdog -- measures the memory that a sandbox's processes use, without a
 * cgroup.
 *
 * For --best-effort only: the supervisor looks every WATCHDOG_MS.  Memory that
 * is used and given back in between is not seen, nor is memory that no process
 * has mapped (a memfd, a pipe).  RLIMIT_AS would be no substitute: sanitizers,
 * Go and V8 reserve far more than they use. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_MS 50

/* Returns the bytes used by `init`, pid 1 of a sandbox, and by all its descendants;
 * orphans become children of `init`.  The result is a rough sum, which counts shared
 * pages once for each process, if that is not above `limit`; else the exact sum. */
uint64_t watchdog_measure(pid_t init, uint64_t limit);

/* The resources that a sandbox's processes use at present; shared pages count once
 * for each process. */
struct consumption {
	uint64_t memory; /* in bytes */
	uint64_t cpu_us; /* in microseconds; processes that have ended count, too */
	uint64_t pids;   /* processes; measured with a cgroup, also threads */
};

/* Measures the use of all descendants of `init`, without `init` itself. */
void watchdog_consumption(pid_t init, struct consumption *ret);
