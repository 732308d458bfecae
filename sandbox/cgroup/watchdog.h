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

/* The bytes used by all descendants of `init`, pid 1 of a sandbox, which all
 * its orphans go to.  Returns a rough sum, which counts shared pages once for
 * each process, if that is not above `limit`; else the exact one. */
uint64_t watchdog_measure(pid_t init, uint64_t limit);

/* The use at present; shared pages count once for each process. */
struct consumption {
	uint64_t memory; /* bytes */
	uint64_t cpu_us; /* processes that have ended count, too */
	uint64_t pids;   /* processes; with a cgroup also threads */
};

/* Leaves out `init` itself. */
void watchdog_consumption(pid_t init, struct consumption *ret);
