/* executor: takes requests, ends properly, and stops reading while its answers are
 * not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "tests/unit/requests.h"
#include "tests/unit/rounds.h"
#include "tests/unit/supervisor.h"

static void test_many_requests_before_the_first_answer_is_read(void **state)
{
	enum { MANY = 100 };
	struct supervisor s;
	unsigned started = 0, exited = 0;

	(void)state;
	supervisor_start(&s);
	for (uint32_t i = 1; i <= MANY; i++) {
		struct ask a = { .id = i, .argv = true_argv };
		supervisor_ask(&s, &a);
	}
	while (exited < MANY) {
		struct answer a = supervisor_answer(&s);
		started += a.type == MSG_STARTED;
		exited += a.type == MSG_EXITED;
		assert_true(exited <= started);
	}
	assert_int_equal(started, MANY);
	(void)supervisor_end(&s);
}

static void test_the_largest_request_is_read_and_no_larger_one(void **state)
{
	struct supervisor s;
	struct ask ping = { .id = 1, .argv = true_argv };
	char *argv[] = { TEXT("/bin/true"), NULL, NULL };
	struct buffer b;
	int fds[3] = { 2, 2, 2 };

	(void)state;
	/* Longer than any argument that execve(2) accepts, so that the start
	 * fails there. */
	argv[1] = calloc(1, FRAME_MAX_TO_EXECUTOR);
	assert_non_null(argv[1]);
	buffer_init(&b, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	put_exec_of(&b, 1, 0, argv);
	memset(argv[1], 'x', FRAME_MAX_TO_EXECUTOR + FRAME_HEADER - buffer_len(&b));
	buffer_consume(&b, buffer_len(&b));
	put_exec_of(&b, 1, 0, argv);
	assert_int_equal(buffer_len(&b), FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	supervisor_start(&s);
	supervisor_send(&s, &b, fds, 3);
	struct answer a = supervisor_expect(&s, MSG_FAILED, 1);
	assert_int_equal(a.failed.stage, EXEC_STAGE_EXECVE);
	assert_int_equal(a.failed.sys, 7); /* E2BIG */
	supervisor_run(&s, &ping);
	buffer_done(&b);
	free(argv[1]);
	send_one(&s, put_one_byte_too_long, 0);
	supervisor_expect_violation(&s);
}

static void test_stop_ends_it_properly(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start(&s);
	send_one(&s, put_stop, 0);
	assert_int_equal(supervisor_answer(&s).type, MSG_NONE);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);
}

static void test_the_last_command_ends_it_after_its_answer(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 3, .flags = EXEC_LAST, .argv = true_argv };

	(void)state;
	supervisor_start(&s);
	supervisor_run(&s, &a);
	assert_int_equal(supervisor_answer(&s).type, MSG_NONE);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);

	supervisor_start(&s);
	a.argv = ARGV(TEXT("/nonesuch"));
	supervisor_ask(&s, &a);
	supervisor_expect(&s, MSG_FAILED, 3);
	assert_int_equal(supervisor_answer(&s).type, MSG_NONE);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);
}

static void test_the_last_command_can_be_signalled_but_none_can_follow(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .flags = EXEC_LAST, .argv = sleep_argv };
	struct ask next = { .id = 2, .argv = true_argv };

	(void)state;
	supervisor_start(&s);
	supervisor_ask(&s, &a);
	supervisor_signal(&s, 1, SIGTERM);
	supervisor_expect(&s, MSG_STARTED, 1);
	assert_int_equal(supervisor_expect(&s, MSG_EXITED, 1).exited.status, SIGTERM);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);

	supervisor_start(&s);
	supervisor_ask(&s, &a);
	pid_t pid = (pid_t)supervisor_expect(&s, MSG_STARTED, 1).pid;
	supervisor_ask(&s, &next);
	supervisor_expect_violation(&s);
	assert_int_equal(kill(pid, SIGKILL), 0);
}

static void test_a_last_command_on_a_terminal_loses_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS_OF(200); i++) {
		struct supervisor s;
		struct ask a = { .id = 1, .flags = EXEC_LAST | EXEC_PTY,
				 .argv = ARGV(TEXT("/usr/bin/seq"), TEXT("2000")) };
		int out[2];
		supervisor_start(&s);
		make_pipe(out);
		a.fds[1] = out[1];
		supervisor_ask(&s, &a);
		(void)close(out[1]);
		AUTO_FREE char *got = read_all(out[0]);
		(void)close(out[0]);
		assert_string_equal(got + strlen(got) - 6, "2000\r\n");
		supervisor_expect(&s, MSG_STARTED, 1);
		supervisor_expect(&s, MSG_EXITED, 1);
		assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);
	}
}

static void test_an_end_in_the_middle_of_a_request_ends_it(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1000);
	put_exec(&b);
	for (size_t len = 0; len < buffer_len(&b); len += 7) {
		struct supervisor s;
		int fds[3] = { 2, 2, 2 };
		supervisor_start(&s);
		if (len > 0)
			assert_true(supervisor_try(&s, buffer_data(&b), len, fds, 3));
		assert_int_equal(shutdown(s.socket, SHUT_WR), 0);
		supervisor_expect_violation(&s);
	}
	buffer_done(&b);
}

static bool has_room(const struct supervisor *s)
{
	struct pollfd p = { .fd = s->socket, .events = POLLOUT };

	return poll(&p, 1, 0) == 1;
}

/* Waits until a request can be sent.  Returns false if the executor is idle and
 * yet none can be sent: it has stopped reading. */
static bool can_send(const struct supervisor *s)
{
	if (has_room(s))
		return true;
	supervisor_await_rest(s);
	return has_room(s);
}

/* If answers are not read, the executor stops reading requests: the socket
 * fills up, and the executor's memory does not grow. */
static void test_a_supervisor_that_does_not_read_is_not_read_either(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = ARGV(TEXT("/nonesuch")) };
	const int fds[3] = { 2, 2, 2 };
	uint32_t sent = 0;

	(void)state;
	supervisor_start(&s);
	for (int i = 0; i < 50; i++) {
		supervisor_ask(&s, &a);
		supervisor_expect(&s, MSG_FAILED, 1);
	}
	unsigned long kib = supervisor_memory(&s);
	assert_int_equal(fcntl(s.socket, F_SETFL, O_NONBLOCK), 0);
	while (can_send(&s)) {
		struct buffer b;
		buffer_init(&b, 1000);
		put_exec_of(&b, sent + 1, 0, a.argv);
		if (supervisor_try(&s, buffer_data(&b), buffer_len(&b), fds, 3))
			sent++;
		else
			assert_int_equal(errno, EAGAIN);
		buffer_done(&b);
	}
	assert_true(sent > 100 && sent < 100000);
	assert_true(supervisor_memory(&s) < kib + 2048);
	for (uint32_t i = 0; i < sent; i++)
		assert_int_equal(supervisor_answer(&s).type, MSG_FAILED);
	(void)supervisor_end(&s);
}

static void test_a_request_may_come_byte_by_byte_and_two_at_once(void **state)
{
	struct supervisor s;
	struct buffer b;
	int fds[3] = { 2, 2, 2 };

	(void)state;
	supervisor_start(&s);
	buffer_init(&b, 1000);
	put_exec(&b);
	for (size_t len = buffer_len(&b), i = 0; i < len; i++, buffer_consume(&b, 1))
		assert_true(supervisor_try(&s, buffer_data(&b), 1, fds, i ? 0 : 3));
	supervisor_expect(&s, MSG_STARTED, 1);
	supervisor_expect(&s, MSG_EXITED, 1);
	put_signal(&b);
	put_signal(&b);
	put_resize(&b);
	put_stop(&b);
	supervisor_send(&s, &b, NULL, 0);
	buffer_done(&b);
	assert_int_equal(supervisor_answer(&s).type, MSG_NONE);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_requests_before_the_first_answer_is_read),
		cmocka_unit_test(test_the_largest_request_is_read_and_no_larger_one),
		cmocka_unit_test(test_stop_ends_it_properly),
		cmocka_unit_test(test_the_last_command_ends_it_after_its_answer),
		cmocka_unit_test(
			test_the_last_command_can_be_signalled_but_none_can_follow),
		cmocka_unit_test(test_a_last_command_on_a_terminal_loses_nothing),
		cmocka_unit_test(test_an_end_in_the_middle_of_a_request_ends_it),
		cmocka_unit_test(test_a_supervisor_that_does_not_read_is_not_read_either),
		cmocka_unit_test(test_a_request_may_come_byte_by_byte_and_two_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
