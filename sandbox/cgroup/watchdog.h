/* watchdog -- measures the memory that a sandbox's processes use, without a
 * cgroup.
 *
 * Used for --best-effort only: the supervisor measures every WATCHDOG_MS.  Memory that
 * is used and given back in between is not seen, nor is memory that no process
 * has mapped (a memfd, a pipe).  RLIMIT_AS would be no substitute: sanitizers,
 * Go and V8 reserve far more than they use. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_MS 50

/* Returns the bytes used by `init`, pid 1 of a sandbox, and by all its descendants;
 * orphans become children of `init`.  The resident memory is added up first, with
 * shared pages counted once for each process.  If that sum is above `limit`, the
 * exact sum is returned instead. */
uint64_t watchdog_measure(pid_t init, uint64_t limit);

/* The resources that a sandbox's processes use at present; shared pages count once
 * for each process. */
struct consumption {
	uint64_t memory; /* in bytes */
	uint64_t cpu_us; /* in microseconds; processes that have ended count, too */
	uint64_t pids;   /* number of processes; if a cgroup counts them, of threads */
};

/* Measures the resources that all descendants of `init` use, without those of `init`. */
void watchdog_consumption(pid_t init, struct consumption *ret);

/* The same for a process that is not the supervisor of that sandbox.  Returns false, with
 * `ret` untouched, if the process `init` is no executor: it has ended, /proc hides it, or
 * the number is of another pid namespace. */
bool watchdog_look(pid_t init, struct consumption *ret);
