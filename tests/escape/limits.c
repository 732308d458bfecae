/* Taking more than a fair share: processes, descriptors, disk, scheduling
 * priority, protection from the out-of-memory killer; and core dumps. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void write_oom_score(struct trial *t)
{
	AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	trial_file(t, fd < 0 ? -1
			     : write(fd, t->probe->text, strlen(t->probe->text)));
}

static void real_time(struct trial *t)
{
	struct sched_param param = { .sched_priority = 1 };

	trial_call(t, sched_setscheduler(0, (int)t->probe->value, &param));
}

/* SCHED_DEADLINE: 1 ms in each 1,000 ms, in nanoseconds. */
static void deadline(struct trial *t)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {
		.size = 48, .policy = 6, .runtime = 1000000,
		.deadline = 1000000000, .period = 1000000000,
	};

	trial_call(t, syscall(SYS_sched_setattr, 0, &attr, 0));
}

static void nice_up(struct trial *t)
{
	trial_call(t, setpriority(PRIO_PROCESS, 0, -20));
}

static void io_real_time(struct trial *t)
{
	trial_call(t, syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0)));
}

/* A processor that no machine of this kind has. */
static void affinity_beyond(struct trial *t)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(CPU_SETSIZE - 1, &set);
	trial_call(t, sched_setaffinity(0, sizeof(set), &set));
}

/* Forks children that only wait; trial_sweep() kills them after the trial. */
static void processes(struct trial *t)
{
	long got = 0;
	int error = 0;

	for (; got < t->probe->value; got++) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		if (pid < 0) {
			error = errno;
			break;
		}
	}
	trial_count(t, got, t->probe->value, error);
}

static void open_files(struct trial *t)
{
	struct rlimit limit;
	long got = 0;

	(void)getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	limit.rlim_cur = limit.rlim_max;
	/* A process may raise its soft limit up to the hard one. */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	while (got < t->probe->value && dup(0) >= 0)
		got++;
	trial_count(t, got, t->probe->value, errno);
}

/* Allocates a tebibyte, which is more than any scratch folder may have. */
static void allocate_disk(struct trial *t)
{
	struct path path = path_in(t->set->scratch, "probe-huge");

	(void)file_make(path.s, "", 0600); /* if this fails, so does the open(2) below */
	AUTO_CLOSE int fd = open(path.s, O_RDWR | O_CLOEXEC);
	trial_call(t, fd < 0 ? -1 : fallocate(fd, 0, 0, 1L << 40));
	if (!strcmp(t->result, "reached:ENOSPC") ||
	    !strcmp(t->result, "reached:EFBIG"))
		trial_error(t, "refused", t->result[11] == 'S' ? ENOSPC : EFBIG);
	(void)unlink(path.s); /* made above */
}

/* WCOREDUMP() is the bit that the kernel sets when it has dumped core, to a
 * file or to a handler. */
static void dump_core(struct trial *t)
{
	struct rlimit limit;
	int status = 0;

	if (chdir(t->set->scratch)) {
		trial_error(t, "skip", errno);
		return;
	}
	(void)getrlimit(RLIMIT_CORE, &limit); /* cannot fail */
	limit.rlim_cur = limit.rlim_max;
	/* A process may raise its soft limit up to the hard one. */
	(void)setrlimit(RLIMIT_CORE, &limit);
	pid_t pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* cannot fail */
		abort();
	}
	(void)waitpid(pid, &status, 0); /* our child */
	trial_says(t, WCOREDUMP(status) ? "allowed" : "refused:no-dump",
		   "hard limit %lld", (long long)limit.rlim_max);
	char name[32];
	snprintf(name, sizeof(name), "core.%d", pid);
	(void)unlink(name); /* removes a core dump under either of its two usual names */
	(void)unlink("core"); /* as above */
}

/* 1, not 0: with 0 the kernel still starts a handler of the host's (core(5)). */
static void core_limit(struct trial *t)
{
	struct rlimit limit;

	(void)getrlimit(RLIMIT_CORE, &limit); /* cannot fail */
	trial_says(t, limit.rlim_max == 1 && limit.rlim_cur <= 1 ? "refused:one"
								 : "allowed",
		   "%lld of %lld", (long long)limit.rlim_cur,
		   (long long)limit.rlim_max);
}

const struct probe limits_probes[] = {
	{ "B44", "oom-score-lowest", .run = write_oom_score, .text = "-1000" },
	{ "B44", "oom-score-zero", .run = write_oom_score, .text = "0" },
	{ "B45", "sched-fifo", .run = real_time, .value = SCHED_FIFO },
	{ "B45", "sched-rr", .run = real_time, .value = SCHED_RR },
	{ "B45", "sched-deadline", .run = deadline },
	{ "B45", "nice-highest", .run = nice_up },
	{ "B45", "ioprio-real-time", .run = io_real_time },
	{ "B45", "affinity-beyond", .run = affinity_beyond },
	{ "E70", "processes-300", .run = processes, .value = 300 },
	{ "E70", "processes-900", .run = processes, .value = 900 },
	{ "E74", "open-files-100000", .run = open_files, .value = 100000 },
	{ "E74", "fallocate-tebibyte", .run = allocate_disk, .flags = PROBE_ALONE },
	{ "F89", "core-limit", .run = core_limit },
	{ "F89", "core-dump", .run = dump_core },
	{ 0 },
};
