/* Commands enter their cgroup.  A pipe plays its cgroup.procs: the executor only
 * writes to that file, so the test checks what it writes, and from which process. */
#include "executor/process/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "tests/unit/supervisor.h"

static char *const true_argv[] = { TEXT("/bin/true"), NULL };

static void send_cgroup(struct supervisor *s, const int *fds, unsigned count)
{
	struct buffer b;
	struct err e;

	buffer_init(&b, 1000);
	assert_int_equal(message_put_cgroup(&b, &e), 0);
	supervisor_send(s, &b, fds, count);
	buffer_done(&b);
}

static void expect_violation(struct supervisor *s)
{
	assert_int_equal(supervisor_answer(s).type, MSG_NONE); /* no answer at all */
	supervisor_expect_violation(s);
}

static void test_each_command_enters_it_once(void **state)
{
	struct ask a = { .argv = (char **)true_argv };
	struct supervisor s;
	int procs[2];

	(void)state;
	make_pipe(procs);
	supervisor_start(&s);
	send_cgroup(&s, &procs[1], 1);
	own_close(&procs[1]);
	for (a.id = 1; a.id <= 3; a.id++)
		supervisor_run(&s, &a);
	(void)supervisor_end(&s);
	/* The pipe ends with the executor: no command has inherited its descriptor. */
	AUTO_FREE char *written = read_all(procs[0]);
	assert_string_equal(written, "000");
	own_close(&procs[0]);
}

static void test_without_one_nothing_is_entered(void **state)
{
	struct ask a = { .id = 1, .argv = SH("ls /proc/self/fd | wc -l >&2") };
	struct supervisor s;
	int out[2];

	(void)state;
	make_pipe(out);
	a.fds[2] = out[1];
	supervisor_start(&s);
	supervisor_run(&s, &a);
	(void)supervisor_end(&s);
	own_close(&out[1]);
	AUTO_FREE char *count = read_all(out[0]);
	assert_int_equal(atoi(count), 4); /* 0, 1, 2, and the folder that ls reads */
	own_close(&out[0]);
}

static void test_a_cgroup_that_cannot_be_entered_is_a_failed_command(void **state)
{
	struct ask a = { .id = 1, .argv = (char **)true_argv };
	AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct supervisor s;

	(void)state;
	supervisor_start(&s);
	send_cgroup(&s, &full, 1);
	supervisor_ask(&s, &a);
	struct failed failed = supervisor_expect(&s, MSG_FAILED, 1).failed;
	assert_int_equal(failed.stage, EXEC_STAGE_CGROUP);
	assert_int_equal(failed.sys, ENOSPC);
	(void)supervisor_end(&s);
}

static void test_the_cgroup_comes_with_one_descriptor(void **state)
{
	static const unsigned counts[] = { 0, 2, 3, 4 };
	const int fds[4] = { 2, 2, 2, 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct supervisor s;
		supervisor_start(&s);
		send_cgroup(&s, fds, counts[i]);
		expect_violation(&s);
	}
}

static void test_the_cgroup_comes_once(void **state)
{
	struct supervisor s;
	const int fd = 2;

	(void)state;
	supervisor_start(&s);
	send_cgroup(&s, &fd, 1);
	send_cgroup(&s, &fd, 1);
	expect_violation(&s);
}

static void test_the_cgroup_comes_before_any_command(void **state)
{
	struct ask a = { .id = 1, .argv = (char **)true_argv };
	struct supervisor s;
	const int fd = 2;

	(void)state;
	supervisor_start(&s);
	supervisor_run(&s, &a);
	send_cgroup(&s, &fd, 1);
	expect_violation(&s);
}

static void test_counts_of_events(void **state)
{
	static const char text[] = "low 1\noom 2\noom_kill 3\noom_group_kill 4\n";

	(void)state;
	assert_int_equal(cgroup_count(text, "low"), 1);
	assert_int_equal(cgroup_count(text, "oom"), 2);
	assert_int_equal(cgroup_count(text, "oom_kill"), 3);
	assert_int_equal(cgroup_count(text, "oom_group_kill"), 4);
	assert_int_equal(cgroup_count(text, "kill"), 0);
	assert_int_equal(cgroup_count("", "oom"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_command_enters_it_once),
		cmocka_unit_test(test_without_one_nothing_is_entered),
		cmocka_unit_test(
			test_a_cgroup_that_cannot_be_entered_is_a_failed_command),
		cmocka_unit_test(test_the_cgroup_comes_with_one_descriptor),
		cmocka_unit_test(test_the_cgroup_comes_once),
		cmocka_unit_test(test_the_cgroup_comes_before_any_command),
		cmocka_unit_test(test_counts_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
