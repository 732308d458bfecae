/* halt: continues a copying process or a worker that processes inside stop again and
 * again.  A process that was stopped too often is ended, and the error says so. */
#include "executor/process/halt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "protocol/message.h"
#include "tests/patience.h"

#define T0 1000

/* --- looks, with no process and any `now` --------------------------------------- */

static const struct {
	struct halt halt;
	bool is_stopped;
	int64_t now;
	enum halt_step step;
	struct halt after;
} looks[] = {
	{ { 1500, 0 }, true, 1499, HALT_GOES_ON, { 1500, 0 } }, /* too early */
	{ { 1500, 0 }, false, 1500, HALT_GOES_ON, { 2000, 0 } },
	{ { 1500, 0 }, true, 1500, HALT_IS_CONTINUED, { 2000, 1 } },
	{ { 1500, 0 }, true, 9999, HALT_IS_CONTINUED, { 9999 + HALT_EVERY_MS, 1 } },
	/* Where the process is found running, the count of earlier stops stays. */
	{ { 1500, 7 }, false, 1500, HALT_GOES_ON, { 2000, 7 } },
	{ { 1500, HALT_MOST - 2 },
	  true,
	  1500,
	  HALT_IS_CONTINUED,
	  { 2000, HALT_MOST - 1 } },
	{ { 1500, HALT_MOST - 1 }, false, 1500, HALT_GOES_ON, { 2000, HALT_MOST - 1 } },
	{ { 1500, HALT_MOST - 1 }, true, 1500, HALT_HAS_TAKEN_ALL, { 2000, HALT_MOST } },
};

static void test_looks_that_find_it_stopped_are_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		struct halt h = looks[i].halt;
		enum halt_step step = halt_step(&h, looks[i].is_stopped, looks[i].now);
		if (step != looks[i].step || h.due != looks[i].after.due ||
		    h.count != looks[i].after.count)
			fail_msg("row %zu: step %d, due %lld, count %u", i, (int)step,
				 (long long)h.due, h.count);
	}
}

/* --- a process ------------------------------------------------------------------- */

/* If the process was running, its new state may appear only after kill(2) has
 * returned. */
static void stop(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
}

static void test_a_child_that_is_stopped_is_seen_and_continued(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			(void)pause();
	}
	assert_false(halt_has(pid));
	stop(pid);
	assert_true(halt_has(pid) && halt_has(pid)); /* asking consumes nothing */
	halt_end(pid);
	assert_false(halt_has(pid));
	stop(pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(halt_has(pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* --- a copy ------------------------------------------------------------------------ */

struct stage {
	struct processes processes;
	struct user user;
	struct command *copy;
	/* Owned: the writing end of the copy's tar, to which nothing is written. */
	int tar;
};

/* Starts a copy that unpacks and waits for its tar. */
static void stage_init(struct stage *s)
{
	char *argv[] = { (char *)"copy.in", (char *)"/dev", (char *)"x", NULL };
	const struct exec exec = { .flags = EXEC_UNPACK, .uid = getuid(), .gid = getgid(),
				   .cwd = "/", .argv = argv, .env = argv + 3 };
	struct command_request request = { .id = 7, .exec = &exec };
	int tar[2];

	*s = (struct stage){ 0 };
	processes_init(&s->processes);
	assert_int_equal(user_init(&s->user), 0);
	assert_int_equal(pipe2(tar, O_CLOEXEC), 0);
	s->tar = tar[1];
	request.fds[0] = tar[0];
	for (int i = 1; i < 3; i++)
		request.fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	processes_start(&s->processes, &request, &s->user);
	s->copy = processes_find(&s->processes, 7);
	assert_true(s->copy && s->copy->pid > 0);
}

static void stage_done(struct stage *s)
{
	own_close(&s->tar);
	processes_done(&s->processes);
}

/* Returns the copy's last message. */
static struct exited ended(struct stage *s)
{
	struct exited x = { 0 };
	struct buffer out;
	struct frame f;
	struct err e;
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)s->copy->pid, &info, WEXITED | WNOWAIT), 0);
	while (!s->copy->is_reaped)
		(void)processes_reap(&s->processes);
	buffer_init(&out, 4096);
	assert_int_equal(processes_report(&s->processes, &out, &e), 0);
	assert_int_equal(s->processes.count, 0);
	while (frame_next(&out, 4096, &f, &e) == 1) {
		if (f.type == MSG_EXITED)
			assert_int_equal(message_get_exited(&f, &x, &e), 0);
		buffer_consume(&out, FRAME_HEADER + f.len);
	}
	buffer_done(&out);
	return x;
}

static void test_a_copy_that_is_stopped_again_and_again_is_ended(void **state)
{
	struct stage s;
	int64_t now = T0;

	(void)state;
	stage_init(&s);
	for (unsigned i = 1; i <= HALT_MOST; i++) {
		assert_false(s.copy->is_late);
		stop(s.copy->pid);
		processes_look(&s.processes, false, now);
		assert_int_equal(s.copy->halt.count, i);
		now = processes_look_due(&s.processes);
	}
	assert_true(s.copy->is_late && now == INT64_MAX);
	const struct exited x = ended(&s);
	assert_true(!x.is_signaled && x.status == COPY_TIMED_OUT);
	stage_done(&s);
}

static void test_a_copy_that_is_stopped_once_goes_on(void **state)
{
	struct stage s;

	(void)state;
	stage_init(&s);
	stop(s.copy->pid);
	processes_look(&s.processes, false, T0);
	assert_true(processes_look_due(&s.processes) == T0 + HALT_EVERY_MS);
	/* The copy runs again and reads the end of an empty tar, which is invalid. */
	own_close(&s.tar);
	const struct exited x = ended(&s);
	assert_true(!x.is_signaled && x.status == COPY_INVALID);
	stage_done(&s);
}

static void test_nobody_is_looked_at_while_everyone_is_paused(void **state)
{
	struct stage s;

	(void)state;
	stage_init(&s);
	stop(s.copy->pid);
	processes_look(&s.processes, true, T0);
	assert_true(halt_has(s.copy->pid) && s.copy->halt.count == 0);
	assert_true(processes_look_due(&s.processes) == T0 + HALT_EVERY_MS);
	assert_int_equal(kill(s.copy->pid, SIGKILL), 0);
	const struct exited x = ended(&s);
	assert_true(x.is_signaled && x.status == SIGKILL); /* another process killed it */
	stage_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks_that_find_it_stopped_are_counted),
		cmocka_unit_test(test_a_child_that_is_stopped_is_seen_and_continued),
		cmocka_unit_test(test_a_copy_that_is_stopped_again_and_again_is_ended),
		cmocka_unit_test(test_a_copy_that_is_stopped_once_goes_on),
		cmocka_unit_test(test_nobody_is_looked_at_while_everyone_is_paused),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
