/* Attacks on pid 1, the sandbox's executor, which has the uid of the commands:
 * tracing, memory, descriptors, limits, scheduling.  Each attack writes back
 * the value it read, so that one that works does no harm. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Has the same address in every copy of this program, so the probe can look for it
 * in a target that is its own child. */
static const char known_text[16] = "hutch-probe";

static void trace(struct trial *t, int pid)
{
	long ret = ptrace((enum __ptrace_request)t->probe->value, pid, NULL, NULL);

	trial_file(t, ret);
	if (!ret && t->probe->value == PTRACE_ATTACH) {
		(void)waitpid(pid, NULL, __WALL); /* PTRACE_DETACH needs a stop */
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL); /* so does it end */
	}
}

static void target_trace(struct trial *t)
{
	trace(t, t->set->target);
}

static void host_trace(struct trial *t)
{
	trace(t, t->set->host_pid);
}

/* Sets its own dumpable flag and permits every tracer, and then tries to trace:
 * neither may give it rights over other processes (B43 in expect.tsv). */
static void dumpable_then_trace(struct trial *t)
{
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* refused is as good */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* no Yama */
	trace(t, t->set->target);
}

static void memory_read(struct trial *t, int pid)
{
	char text[sizeof(known_text)];
	struct iovec local = { text, sizeof(text) };
	struct iovec remote = { (void *)(uintptr_t)known_text, sizeof(text) };

	trial_file(t, process_vm_readv(pid, &local, 1, &remote, 1, 0));
}

static void target_memory_read(struct trial *t)
{
	memory_read(t, t->set->target);
}

static void host_memory_read(struct trial *t)
{
	memory_read(t, t->set->host_pid);
}

/* No process has anything mapped at address 8, so a write that is permitted
 * ends in EFAULT. */
static void target_memory_write(struct trial *t)
{
	char byte = 0;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)8, 1 };

	trial_file(t, process_vm_writev(t->set->target, &local, 1, &remote, 1, 0));
}

static void target_pidfd_getfd(struct trial *t)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, t->set->target, 0);

	trial_file(t, pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static void target_madvise(struct trial *t)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, t->set->target, 0);
	struct iovec none = { (void *)4096, 4096 };

	trial_file(t, pidfd < 0 ? -1 : syscall(SYS_process_madvise, pidfd, &none,
					       1, 20 /* MADV_COLD */, 0));
}

static void target_kcmp(struct trial *t)
{
	trial_file(t, syscall(SYS_kcmp, getpid(), t->set->target, KCMP_FILES, 0,
			      0));
}

static void target_move_pages(struct trial *t)
{
	void *pages[1] = { (void *)4096 };
	int nodes[1] = { 0 }, status[1] = { 0 };

	trial_file(t, syscall(SYS_move_pages, t->set->target, 1, pages, nodes,
			      status, 0));
}

static void target_migrate_pages(struct trial *t)
{
	unsigned long none = 0;

	trial_file(t, syscall(SYS_migrate_pages, t->set->target, 8, &none, &none));
}

static void target_prlimit_get(struct trial *t)
{
	struct rlimit limit;

	trial_file(t, prlimit(t->set->target, RLIMIT_NOFILE, NULL, &limit));
}

/* Sets a limit, for which the kernel requires the same rights as for reading one.
 * The value is the probe's own, which its sibling, the control's target, has, too. */
static void target_prlimit_set(struct trial *t)
{
	struct rlimit limit;

	if (prlimit(t->set->target, RLIMIT_NOFILE, NULL, &limit))
		(void)getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	trial_file(t, prlimit(t->set->target, RLIMIT_NOFILE, &limit, NULL));
}

/* Sets RLIMIT_CPU to 0, so that the target is killed at the next tick when it
 * runs.  Runs alone, since it ends the sandbox where it works on pid 1. */
static void target_prlimit_kill(struct trial *t)
{
	static const struct rlimit none = { 0, 0 };

	trial_file(t, prlimit(t->set->target, RLIMIT_CPU, &none, NULL));
}

static void target_scheduler(struct trial *t)
{
	struct sched_param param = { 0 };

	trial_file(t, sched_setscheduler(t->set->target, SCHED_OTHER, &param));
}

static void target_sched_setparam(struct trial *t)
{
	struct sched_param param = { 0 };

	trial_file(t, sched_setparam(t->set->target, &param));
}

static void target_sched_setattr(struct trial *t)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	/* A higher nice value is always permitted, so only the access is tested. */
	} attr = { .size = 48, .nice = 19 };

	trial_file(t, syscall(SYS_sched_setattr, t->set->target, &attr, 0));
}

static void target_affinity(struct trial *t)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		trial_error(t, "skip", errno);
	else
		trial_file(t, sched_setaffinity(t->set->target, sizeof(set), &set));
}

/* Sets the priority of the target alone, of its group, or of its user; the last two
 * include pid 1.  The nice value is the probe's own: a higher one could not be
 * lowered again without rights. */
static void target_priority(struct trial *t)
{
	int which = (int)t->probe->value;
	int nice = getpriority(PRIO_PROCESS, 0);
	id_t target = which == PRIO_USER ? getuid() : (id_t)t->set->target;

	trial_file(t, setpriority((__priority_which_t)which, target, nice));
}

static void target_ioprio(struct trial *t)
{
	int which = (int)t->probe->value;
	int target = which == IOPRIO_WHO_USER ? (int)getuid() : t->set->target;

	trial_file(t, syscall(SYS_ioprio_set, which, target,
			      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)));
}

#define TARGET(nm, function) { "B36", nm, .run = function }
#define PRIORITY(nm, function, which) { "B36b", nm, .run = function, .value = which }
/* Reaches every process of the user that the pid namespace shows. */
#define PRIORITY_USER(nm, function, which) \
	{ "B36b", nm, .run = function, .value = which, .flags = PROBE_ALONE }

const struct probe pid1_probes[] = {
	{ "B36", "pid1-ptrace-attach", .run = target_trace, .value = PTRACE_ATTACH },
	{ "B36", "pid1-ptrace-seize", .run = target_trace, .value = PTRACE_SEIZE },
	TARGET("pid1-vm-readv", target_memory_read),
	TARGET("pid1-vm-writev", target_memory_write),
	TARGET("pid1-pidfd-getfd", target_pidfd_getfd),
	TARGET("pid1-process-madvise", target_madvise),
	TARGET("pid1-kcmp", target_kcmp),
	TARGET("pid1-move-pages", target_move_pages),
	TARGET("pid1-migrate-pages", target_migrate_pages),
	{ "B36b", "pid1-prlimit-get", .run = target_prlimit_get },
	{ "B36b", "pid1-prlimit-set", .run = target_prlimit_set },
	{ "B36b", "pid1-prlimit-kill", .run = target_prlimit_kill, .flags = PROBE_ALONE },
	{ "B36b", "pid1-sched-setscheduler", .run = target_scheduler },
	{ "B36b", "pid1-sched-setparam", .run = target_sched_setparam },
	{ "B36b", "pid1-sched-setattr", .run = target_sched_setattr },
	{ "B36b", "pid1-sched-setaffinity", .run = target_affinity },
	PRIORITY("pid1-setpriority", target_priority, PRIO_PROCESS),
	PRIORITY("pid1-setpriority-group", target_priority, PRIO_PGRP),
	PRIORITY_USER("pid1-setpriority-user", target_priority, PRIO_USER),
	PRIORITY("pid1-ioprio", target_ioprio, IOPRIO_WHO_PROCESS),
	PRIORITY("pid1-ioprio-group", target_ioprio, IOPRIO_WHO_PGRP),
	PRIORITY_USER("pid1-ioprio-user", target_ioprio, IOPRIO_WHO_USER),
	{ "B37", "host-pid-ptrace", .run = host_trace, .value = PTRACE_SEIZE },
	{ "B37", "host-pid-vm-readv", .run = host_memory_read },
	{ "B43", "dumpable-then-ptrace", .run = dumpable_then_trace,
	  .value = PTRACE_SEIZE },
	{ 0 },
};
