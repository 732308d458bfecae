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

/* Where the commands' output logs are. */
#define LIMITS_LOGS "/run/hutch/log"
/* Where a sandbox with limits sees its cgroup. */
#define LIMITS_CGROUP "/sys/fs/cgroup"

struct err;
struct plan;
struct policy;

/* Adds the step for the output logs. */
void limits_plan_logs(struct plan *p, const struct policy *policy);

/* With all steps but the seal in the plan: gives each tmpfs its size, and makes a
 * place for the sandbox's own cgroup at /sys/fs/cgroup. */
void limits_plan(struct plan *p, const struct policy *policy);

/* Shows `path`, the cgroup of the commands, at that place; JVMs and others read
 * their limits there.  Without it the place stays empty. */
int limits_show_cgroup(struct plan *p, const char *path, struct err *e);

/* For --best-effort: bounds processes by RLIMIT_NPROC, the executor included. */
void limits_count_processes(struct plan *p, uint64_t pids);
