/* System calls that no command needs and that a filter is to refuse.  Each is
 * made with arguments that cannot work, so that root's control is harmless: an
 * error other than EPERM, EACCES or ENOSYS shows that the call got past the
 * filter. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#define NOWHERE "/nonexistent/hutch-probe"

/* Makes the call with six arguments of 0, or with `value2` as the first one, which
 * suits many calls. */
static void plain_call(struct trial *t)
{
	trial_call(t, syscall(t->probe->value, t->probe->value2, 0, 0, 0, 0, 0));
}

static void call_on_path(struct trial *t)
{
	trial_call(t, syscall(t->probe->value, NOWHERE, t->probe->value2, 0, 0));
}

static void io_uring_new(struct trial *t)
{
	char params[120] = { 0 };

	trial_call(t, syscall(SYS_io_uring_setup, 1, params));
}

static void perf_self(struct trial *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	trial_call(t, syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static void bpf_bad_map(struct trial *t)
{
	union bpf_attr attr = { .map_type = 0xffff };

	trial_call(t, syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

/* More segments than the kernel allows: EINVAL before anything else is checked. */
static void kexec_too_many(struct trial *t)
{
	trial_call(t, syscall(SYS_kexec_load, 0UL, 1000UL, NULL, 0UL));
}

static void kexec_file_bad(struct trial *t)
{
	trial_call(t, syscall(SYS_kexec_file_load, -1, -1, 0UL, NULL, 0xdeadUL));
}

static void module_bad(struct trial *t)
{
	trial_call(t, syscall(SYS_init_module, NULL, 0UL, ""));
}

static void module_bad_file(struct trial *t)
{
	trial_call(t, syscall(SYS_finit_module, -1, "", 0));
}

static void module_delete(struct trial *t)
{
	trial_call(t, syscall(SYS_delete_module, "hutch_probe_none", O_NONBLOCK));
}

/* The magic number is wrong, so the machine is never rebooted. */
static void reboot_bad(struct trial *t)
{
	trial_call(t, syscall(SYS_reboot, 0, 0, 0, NULL));
}

static void quota_get(struct trial *t)
{
	char room[256];

	trial_call(t, syscall(SYS_quotactl, QCMD(Q_GETFMT, USRQUOTA), NOWHERE, 0,
			      room));
}

/* A new session has no terminal, so vhangup(2) hangs up no terminal. */
static void hang_up(struct trial *t)
{
	/* Fails with EPERM if this process leads a group, hence the fork. */
	(void)setsid();
	pid_t pid = fork();
	if (pid) {
		(void)child_wait(pid); /* the child stores the result in shared memory */
		return;
	}
	(void)setsid(); /* cannot fail: a new process leads no group */
	trial_call(t, syscall(SYS_vhangup));
	_exit(0);
}

/* Invalid times are refused before rights are checked, so EINVAL shows, for an
 * ordinary user, too, that no filter stopped the call. */
static void time_set(struct trial *t)
{
	static const long bad[2] = { 0, -1 };

	trial_call(t, syscall(SYS_settimeofday, bad, NULL));
}

static void clock_set(struct trial *t)
{
	static const struct timespec bad = { 0, -1 };

	trial_call(t, syscall(SYS_clock_settime, CLOCK_REALTIME, &bad));
}

static void clock_adjust(struct trial *t)
{
	struct timex bad = { .modes = ADJ_TICK, .tick = 0 };

	trial_call(t, syscall(SYS_adjtimex, &bad));
}

static void clock_adjust_other(struct trial *t)
{
	struct timex bad = { .modes = ADJ_TICK, .tick = 0 };

	trial_call(t, syscall(SYS_clock_adjtime, CLOCK_REALTIME, &bad));
}

static void clock_query(struct trial *t)
{
	struct timex query = { 0 };

	trial_call(t, syscall(SYS_adjtimex, &query));
}

static void fanotify_new(struct trial *t)
{
	trial_call(t, syscall(SYS_fanotify_init, FAN_CLASS_CONTENT, O_RDONLY));
}

static void change_personality(struct trial *t)
{
	trial_call(t, syscall(SYS_personality, (unsigned long)t->probe->value));
}

static void map_low(struct trial *t)
{
	void *map = mmap((void *)4096, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	trial_call(t, map == MAP_FAILED ? -1 : 0);
}

static void map_zero_low(struct trial *t)
{
	AUTO_CLOSE int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	void *map = mmap((void *)4096, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_FIXED, fd, 0);

	trial_call(t, map == MAP_FAILED ? -1 : 0);
}

static void map_writable_code(struct trial *t)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	trial_call(t, map == MAP_FAILED ? -1 : 0);
}

/* Numbers that no kernel has yet must answer ENOSYS: programs try new calls
 * first and fall back.  A filter that killed here would break future programs. */
static void unknown_numbers(struct trial *t)
{
	for (long n = t->probe->value; n <= t->probe->value2; n++)
		if (syscall(n, 0, 0, 0, 0, 0, 0) >= 0 || errno != ENOSYS) {
			trial_call(t, -1);
			trial_note(t, "number %ld", n);
			return;
		}
	trial_error(t, "refused", ENOSYS);
}

#define CALL(nm, call, first) \
	{ "C52", nm, .run = plain_call, .value = call, .value2 = first }
#define ON_PATH(nm, call) { "C52", nm, .run = call_on_path, .value = call }

const struct probe syscalls_probes[] = {
	{ "C50", "unknown-600-to-1000", .run = unknown_numbers, .value = 600,
	  .value2 = 1000 },
	{ "C50", "unknown-highest", .run = unknown_numbers, .value = 0x3ffffff0,
	  .value2 = 0x3fffffff },
	{ "C50", "unknown-negative", .run = unknown_numbers, .value = -64, .value2 = -2 },
	{ "C51", "io-uring-setup", .run = io_uring_new },
	{ "C51", "io-uring-enter", .run = plain_call, .value = SYS_io_uring_enter,
	  .value2 = -1 },
	{ "C51", "io-uring-register", .run = plain_call, .value = SYS_io_uring_register,
	  .value2 = -1 },
	CALL("userfaultfd-user-mode", SYS_userfaultfd, UFFD_USER_MODE_ONLY),
	CALL("userfaultfd", SYS_userfaultfd, 0),
	{ "C52", "perf-event-open", .run = perf_self },
	{ "C52", "bpf", .run = bpf_bad_map },
	{ "C52", "kexec-load", .run = kexec_too_many },
	{ "C52", "kexec-file-load", .run = kexec_file_bad },
	{ "C52", "init-module", .run = module_bad },
	{ "C52", "finit-module", .run = module_bad_file },
	{ "C52", "delete-module", .run = module_delete },
	ON_PATH("swapon", SYS_swapon),
	ON_PATH("swapoff", SYS_swapoff),
	{ "C52", "reboot", .run = reboot_bad },
	ON_PATH("acct", SYS_acct),
	{ "C52", "quotactl", .run = quota_get },
	{ "C52", "quotactl-fd", .run = plain_call, .value = SYS_quotactl_fd,
	  .value2 = -1 },
	CALL("lookup-dcookie", SYS_lookup_dcookie, 0),
	CALL("nfsservctl", SYS_nfsservctl, 0),
	{ "C52", "vhangup", .run = hang_up },
	{ "C52", "settimeofday", .run = time_set },
	{ "C52", "clock-settime", .run = clock_set },
	{ "C52", "adjtimex-set", .run = clock_adjust },
	{ "C52", "clock-adjtime-set", .run = clock_adjust_other },
	{ "C52", "adjtimex-query", .run = clock_query },
	{ "C52", "fanotify-init", .run = fanotify_new },
	CALL("syslog", SYS_syslog, 10 /* the buffer's size */),
	{ "C53", "personality-read-implies-exec", .run = change_personality,
	  .value = READ_IMPLIES_EXEC },
	{ "C53", "personality-no-randomize", .run = change_personality,
	  .value = ADDR_NO_RANDOMIZE },
	{ "C53", "personality-query", .run = change_personality, .value = 0xffffffff },
	{ "C58", "mmap-low", .run = map_low },
	{ "C58", "mmap-dev-zero-low", .run = map_zero_low },
	{ "C58", "mmap-writable-code", .run = map_writable_code },
	{ 0 },
};
