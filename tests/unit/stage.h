/* stage -- runs a supervisor with an executor that the test plays.
 *
 * The supervisor runs in a process of its own, so that its blocked signals do
 * not concern the test, and a supervisor that hangs can be noticed and ended.
 * The executor is a child of that process, as a sandbox's pid 1 is.  Include it
 * behind cmocka.h. */
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "protocol/message.h"
#include "sandbox/kernel/stdio.h"
#include "sandbox/launch/result.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/launch/supervise.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

enum end {
	ENDS,	     /* exits with code 0 */
	ENDS_WITH_3, /* exits with another code */
	IS_KILLED,   /* by SIGKILL */
	LIVES,	     /* lives on and does nothing more */
	CLOSES,	     /* closes its channel and lives on */
	FLOODS	     /* writes for ever */
};

struct stage {
	const char *says;
	size_t len;
	bool is_slow; /* the executor writes one byte at a time */
	enum end end;
	/* Called as the executor, instead of sending `says`; returns how the
	 * executor then ends. */
	enum end (*play)(int channel);
	/* Text that the child writes to the pipe by which it reports a failed start. */
	const char *failure;
	size_t failure_len;
	uint64_t timeout_ms;
	uint32_t flags; /* of the command */
	int out;	/* descriptor for the command's stdout; 0: none */
};

struct stage_outcome {
	struct result result;
	unsigned fds_before, fds_after; /* of the supervisor */
	bool is_gone;			/* the supervisor has reaped the executor */
};

__attribute__((noreturn)) static inline void stage_live_on(void)
{
	for (;;)
		(void)pause();
}

static inline void stage_say(const struct stage *s, int channel)
{
	size_t step = s->is_slow ? 1 : s->len;

	for (size_t at = 0; at < s->len; at += step)
		CHECK(send(channel, s->says + at, step, MSG_NOSIGNAL) == (ssize_t)step);
}

static inline void stage_flood(int channel)
{
	static const char noise[4096];

	while (send(channel, noise, sizeof(noise), MSG_NOSIGNAL) > 0)
		;
	stage_live_on();
}

__attribute__((noreturn)) static inline void stage_executor(const struct stage *s,
							    int channel)
{
	enum end end = s->end;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s->play)
		end = s->play(channel);
	else
		stage_say(s, channel);
	if (end == LIVES)
		stage_live_on();
	if (end == FLOODS)
		stage_flood(channel);
	(void)close(channel);
	if (end == CLOSES)
		stage_live_on();
	if (end == IS_KILLED)
		(void)raise(SIGKILL);
	_exit(end == ENDS_WITH_3 ? 3 : 0);
}

static inline void stage_spawn(const struct stage *s, struct sandbox *box)
{
	int pair[2], failure[2];

	sandbox_init(box);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, failure) == 0);
	CHECK(!s->failure ||
	      write(failure[1], s->failure, s->failure_len) == (ssize_t)s->failure_len);
	(void)close(failure[1]);
	box->pid = fork();
	CHECK(box->pid >= 0);
	if (box->pid == 0) {
		(void)close(pair[0]);
		stage_executor(s, pair[1]);
	}
	(void)close(pair[1]);
	box->channel = pair[0];
	box->failure = failure[0];
	box->pidfd = sys_pidfd_open(box->pid, 0);
	CHECK(box->pidfd >= 0);
}

static inline void stage_stdio(const struct stage *s, struct stdio *io)
{
	int ends[2];

	stdio_init(io);
	for (int i = 0; i < STDIO_COUNT; i++)
		io->inside[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (!s->out)
		return;
	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	(void)close(io->inside[1]);
	io->inside[1] = ends[1];
	pump_init(&io->pumps[1], ends[0], fcntl(s->out, F_DUPFD_CLOEXEC, 3), PUMP_SPLICE);
}

static inline void stage_supervise(const struct stage *s, int report)
{
	char *argv[] = { (char[]){ "true" }, NULL }, *env[] = { NULL };
	const struct exec x = { .flags = EXEC_LAST | s->flags, .cwd = "/folder",
				.argv = argv, .env = env };
	struct stage_outcome outcome = { .fds_before = scene_open_fds() };
	struct sandbox box;
	struct stdio io;
	struct err e;

	int signals = supervise_signals(&e);
	CHECK(signals >= 0);
	stage_spawn(s, &box);
	stage_stdio(s, &io);
	struct run run = { &box, &x, &io, s->timeout_ms, signals, 0, NULL, NULL, NULL };
	supervise_run(&run, &outcome.result);
	outcome.is_gone = box.pid == 0 && waitpid(-1, NULL, WNOHANG) < 0;
	sandbox_done(&box);
	stdio_done(&io);
	(void)close(signals);
	outcome.fds_after = scene_open_fds();
	CHECK(io_write_all(report, &outcome, sizeof(outcome)) == 0);
	_exit(0);
}

/* Returns false if the supervisor hangs.  Fails the test if the supervisor
 * leaves a process or a descriptor behind. */
static inline bool stage_play(const struct stage *s, struct result *ret)
{
	struct stage_outcome outcome;
	int report[2];

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(report[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		stage_supervise(s, report[1]);
	}
	(void)close(report[1]);
	bool is_done = scene_readable(report[0], PATIENCE_MS);
	if (!is_done)
		(void)kill(pid, SIGKILL);
	ssize_t len = io_read_full(report[0], &outcome, sizeof(outcome));
	(void)close(report[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!is_done)
		return false;
	assert_int_equal(len, sizeof(outcome));
	assert_true(outcome.is_gone);
	assert_int_equal(outcome.fds_after, outcome.fds_before);
	*ret = outcome.result;
	return true;
}
