/* Signals: forged ones to pid 1, which must ignore them, and signals to
 * processes of the host, which must not be found. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Tells how the target reacted to the signal.  If pid 1 had died, this probe would
 * have died with it, so pid 1 has survived.  Any other target is a child of our
 * parent, and /proc tells its state. */
static const char *target_state(const struct trial *t)
{
	char text[512];

	if (!t->set->own_target)
		return "survived";
	if (file_read(path_of_pid(t->set->target, "stat").s, text,
		      sizeof(text)) < 0)
		return "died";
	const char *state = strrchr(text, ')');
	if (state && strchr("ZX", state[2]))
		return "died";
	return state && state[2] == 'T' ? "stopped" : "survived";
}

/* Waits for a target that dies: it does so when it next runs, and its pidfd is
 * readable then.  A target that survives costs 0.3 s. */
static void target_settle(const struct trial *t)
{
	int pidfd = (int)syscall(SYS_pidfd_open, t->set->target, 0);
	struct timespec wait = { .tv_nsec = 300000000 };
	struct { int fd; short events, revents; } poll = { pidfd, 1, 0 };

	if (t->set->own_target && pidfd >= 0)
		(void)syscall(SYS_ppoll, &poll, 1, &wait, NULL, 0);
	if (pidfd >= 0)
		(void)close(pidfd); /* opened above */
}

static void target_result(struct trial *t, long ret)
{
	trial_file(t, ret);
	if (ret)
		return;
	target_settle(t);
	snprintf(t->result, sizeof(t->result), "allowed:%s", target_state(t));
}

static void target_kill(struct trial *t)
{
	target_result(t, kill(t->set->target, (int)t->probe->value));
}

static void target_tgkill(struct trial *t)
{
	target_result(t, syscall(SYS_tgkill, t->set->target, t->set->target,
				 (int)t->probe->value));
}

static void target_pidfd_signal(struct trial *t)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, t->set->target, 0);

	target_result(t, pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd,
						  (int)t->probe->value, NULL, 0));
}

/* Sends SIGCHLD with a forged siginfo.  The kernel reserves si_code >= 0 for
 * itself when a process signals another one: EPERM. */
static void target_forge(struct trial *t)
{
	siginfo_t info = { .si_signo = SIGCHLD, .si_code = (int)t->probe->value };

	info.si_pid = 2;
	info.si_status = 9;
	target_result(t, syscall(SYS_rt_sigqueueinfo, t->set->target, SIGCHLD,
				 &info));
}

/* The kernel sends a signal of our choice to the owner of a pipe's end when
 * bytes arrive (F_SETOWN, F_SETSIG), which could kill it. */
static void target_own_pipe(struct trial *t)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		trial_error(t, "skip", errno);
		return;
	}
	int ret = fcntl(pair[0], F_SETOWN, t->set->target);
	(void)fcntl(pair[0], F_SETSIG, (int)t->probe->value); /* shows below */
	(void)fcntl(pair[0], F_SETFL, O_ASYNC); /* the same */
	(void)!write(pair[1], "x", 1); /* the same */
	target_result(t, ret);
}

/* Queued signals are charged to the user: RLIMIT_SIGPENDING decides how many
 * the host can still queue. */
static void target_flood(struct trial *t)
{
	long sent = 0;
	union sigval value = { .sival_int = 0 };

	while (sent < 100000 && !sigqueue(t->set->target, SIGRTMIN + 3, value))
		sent++;
	int error = errno;
	target_result(t, sent ? 0 : -1);
	trial_note(t, "%ld sent, then %s", sent,
		   sent < 100000 ? strerrorname_np(error) : "enough");
}

static void host_kill(struct trial *t)
{
	trial_file(t, kill(t->set->host_pid, 0));
}

static void host_tgkill(struct trial *t)
{
	trial_file(t, syscall(SYS_tgkill, t->set->host_pid, t->set->host_pid, 0));
}

/* Signals every process but the caller and the namespace's pid 1. The runner
 * checks that a host process of the same user survives. */
static void kill_all(struct trial *t)
{
	pid_t victim = fork();

	if (!victim)
		for (;;)
			pause();
	int ret = kill(-1, SIGKILL);
	trial_file(t, ret);
	if (!ret)
		trial_note(t, "own child: %d", child_wait(victim));
}

const struct probe signals_probes[] = {
	{ "B36c", "pid1-sigterm", .run = target_kill, .value = SIGTERM },
	{ "B36c", "pid1-sigint", .run = target_kill, .value = SIGINT },
	{ "B36c", "pid1-sigkill", .run = target_kill, .value = SIGKILL },
	{ "B36c", "pid1-sigstop", .run = target_kill, .value = SIGSTOP },
	{ "B36c", "pid1-sigchld", .run = target_kill, .value = SIGCHLD },
	{ "B36c", "pid1-tgkill-segv", .run = target_tgkill, .value = SIGSEGV },
	{ "B36c", "pid1-pidfd-sigkill", .run = target_pidfd_signal, .value = SIGKILL },
	{ "B36c", "pid1-forged-sigchld", .run = target_forge, .value = SI_QUEUE },
	{ "B36c", "pid1-forged-by-kernel", .run = target_forge, .value = CLD_EXITED },
	{ "B36c", "pid1-sigio-kill", .run = target_own_pipe, .value = SIGKILL },
	{ "B36c", "pid1-rt-flood", .run = target_flood },
	{ "B38", "host-pid-kill", .run = host_kill },
	{ "B38", "host-pid-tgkill", .run = host_tgkill },
	{ "B38", "kill-all", .run = kill_all, .flags = PROBE_ALONE },
	{ 0 },
};
