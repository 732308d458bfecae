/* watchdog -- how much memory the processes of a sandbox use, without a cgroup.
 *
 * For --best-effort only: the supervisor looks every WATCHDOG_MS.  What is used
 * and given back in between is not seen, nor memory that no process has mapped
 * (a memfd, a pipe).  RLIMIT_AS would be no substitute: sanitizers, Go and V8
 * reserve far more than they use. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_MS 50

/* Bytes used by all descendants of `init`, pid 1 of a sandbox, whom all its
 * orphans go to.  When a rough sum, which counts shared pages once for each
 * process, is not above `limit`, that; else the exact one. */
uint64_t watchdog_measure(pid_t init, uint64_t limit);

/* What they use now; shared pages count once for each process. */
struct consumption {
	uint64_t memory; /* bytes */
	uint64_t cpu_us; /* of those that have ended, too */
	uint64_t pids;   /* processes; with a cgroup also threads */
};

/* `init` itself is left out. */
void watchdog_consumption(pid_t init, struct consumption *ret);
