/* limits -- the parts of a plan that follow from --memory, --disk and --cgroup-parent.
 *
 * Files in a tmpfs are charged as memory to the cgroup that wrote them, also after the
 * writing command has ended.  So all private folders together get less than half of
 * --memory: if a command fills them, the next one still has memory to run.  Each file of
 * a tmpfs also takes kernel memory that its size does not count, so the number of files
 * is bounded with it. */
#pragma once
#include <stdint.h>

/* The folder inside that holds the commands' output logs. */
#define LIMITS_LOGS "/run/hutch/log"
/* Where a sandbox with limits sees the cgroup of its commands. */
#define LIMITS_CGROUP "/sys/fs/cgroup"

struct err;
struct plan;
struct policy;

/* Adds the step for the output logs. */
void limits_plan_logs(struct plan *p, const struct policy *policy);

/* Gives each tmpfs of the plan its size, and adds the step that shows the sandbox's
 * cgroup at /sys/fs/cgroup.  To be called when the plan has all steps but STEP_SEAL. */
void limits_plan(struct plan *p, const struct policy *policy);

/* Makes the plan show `path`, the cgroup of the commands, at LIMITS_CGROUP; JVMs and
 * other programs read their limits there.  Without this call, that folder stays
 * empty. */
int limits_show_cgroup(struct plan *p, const char *path, struct err *e);

/* Limits the number of processes by RLIMIT_NPROC, in which the executor counts too.  For
 * --best-effort, if there is no cgroup to limit processes. */
void limits_count_processes(struct plan *p, uint64_t pids);
