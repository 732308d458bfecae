/* The filter itself: it stays through execve and memfd; a command may tighten
 * it but not add a listener. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Loads a filter that allows everything.  Returns as seccomp(2) does. */
static long load_allow_all(unsigned int flags)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* cannot fail */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Sets the result from the exit status of a program in the role "status", which tells
 * whether a filter is in force. */
static void status_result(struct trial *t, int bits)
{
	if (bits < 0 || bits > 63)
		trial_says(t, "refused:not-run", "exit %d", bits);
	else if (bits & ROLE_REFUSED && bits & ROLE_FILTER)
		trial_says(t, "refused:filtered", "status %d", bits);
	else
		trial_says(t, "allowed", "status %d", bits);
}

static void filter_after_exec(struct trial *t)
{
	status_result(t, role_run("/proc/self/exe", "status", NULL));
}

static void filter_after_allow_all(struct trial *t)
{
	if (load_allow_all(0)) {
		trial_call(t, -1);
		return;
	}
	status_result(t, role_run("/proc/self/exe", "status", NULL));
}

static void filter_tighten(struct trial *t)
{
	trial_call(t, load_allow_all(0));
}

static void filter_listener(struct trial *t)
{
	long fd = load_allow_all(SECCOMP_FILTER_FLAG_NEW_LISTENER);

	if (fd < 0 && errno == EBUSY)
		trial_error(t, "refused", EBUSY); /* there is one already */
	else
		trial_call(t, fd);
}

/* An unknown program, from memory: it may run, but under the filter. */
static void filter_in_memfd(struct trial *t)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_memfd_create, "probe", 0);
	char name[64];

	if (fd < 0) {
		trial_call(t, -1);
		return;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (syscall(SYS_sendfile, fd, from, NULL, 1L << 30) < 0)
		trial_error(t, "skip", errno);
	else
		status_result(t, role_run(name, "status", NULL));
}

static void memfd_runs(struct trial *t)
{
	filter_in_memfd(t);
	if (t->result[0] == 'r' && t->result[8] == 'f')
		trial_says(t, "allowed:filtered", "as the policy says");
}

const struct probe filter_probes[] = {
	{ "C55", "no-filter-after-exec", .run = filter_after_exec },
	{ "C55", "no-filter-after-allow-all", .run = filter_after_allow_all },
	{ "C55", "filter-tighten", .run = filter_tighten },
	{ "C55", "filter-new-listener", .run = filter_listener },
	{ "C57", "memfd-unfiltered", .run = filter_in_memfd },
	{ "C57", "memfd-fexecve", .run = memfd_runs },
	{ 0 },
};
