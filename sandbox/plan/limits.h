/* limits -- the parts of a plan that follow from --memory, --disk and
 * --cgroup-parent.
 *
 * Files in memory are charged to the cgroup that wrote them and outlive it, so
 * all private folders together get less than half of --memory: a command that
 * filled them is no reason for the next to be killed.  Each file of a tmpfs
 * also takes kernel memory that its size does not count, so the number of files
 * is bounded with it. */
#pragma once
#include <stdint.h>

/* The folder inside that holds the commands' output logs. */
#define LIMITS_LOGS "/run/hutch/log"
/* Where a sandbox with limits sees its cgroup. */
#define LIMITS_CGROUP "/sys/fs/cgroup"

struct err;
struct plan;
struct policy;

/* Adds the step for the output logs. */
void limits_plan_logs(struct plan *p, const struct policy *policy);

/* Gives each tmpfs of the plan its size, and makes a place for the sandbox's
 * own cgroup at /sys/fs/cgroup.  To be called when the plan has all steps but
 * STEP_SEAL. */
void limits_plan(struct plan *p, const struct policy *policy);

/* Shows `path`, the cgroup of the commands, at LIMITS_CGROUP; JVMs and other
 * programs read their limits there.  If this function is not called, the
 * folder stays empty. */
int limits_show_cgroup(struct plan *p, const char *path, struct err *e);

/* Limits the number of processes by RLIMIT_NPROC, which counts the executor
 * too.  For --best-effort, where there is no cgroup to count processes. */
void limits_count_processes(struct plan *p, uint64_t pids);
