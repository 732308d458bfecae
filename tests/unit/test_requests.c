/* requests: each rule of docs/protocol.md that a supervisor can break ends the
 * executor; permitted requests do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "protocol/action.h"
#include "tests/unit/requests.h"
#include "tests/unit/supervisor.h"

static char *bash_argv[] = { TEXT("bash"), NULL };

/* Builders as in requests.h; each of these frames is always invalid. */

static void put_exec_about_nothing(struct buffer *b)
{
	put_exec_of(b, 0, 0, true_argv);
}

static void put_exec_without_argv(struct buffer *b)
{
	put_exec_of(b, 1, 0, no_env);
}

static void put_exec_with_unknown_flag(struct buffer *b)
{
	put_exec_of(b, 1, 4, true_argv);
}

static void put_hello(struct buffer *b)
{
	struct hello h = { .version = PROTOCOL_VERSION, .pid = 1 };
	struct err e;

	assert_int_equal(message_put_hello(b, &h, &e), 0);
}

static void put_started(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_started(b, 1, 2, &e), 0);
}

static void put_failed(struct buffer *b)
{
	struct failed x = { .stage = EXEC_STAGE_CWD, .sys = 2 };
	struct err e;

	assert_int_equal(message_put_failed(b, 1, &x, &e), 0);
}

static void put_exited(struct buffer *b)
{
	struct exited x = { 0 };
	struct err e;

	assert_int_equal(message_put_exited(b, 1, &x, &e), 0);
}

static void put_signal_zero(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_signal(b, 1, 0, &e), 0);
}

static void put_signal_65(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_signal(b, 1, 65, &e), 0);
}

static void put_huge_resize(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_resize(b, 1, 65536, 1, &e), 0);
}

static void put_cgroup(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_cgroup(b, &e), 0);
}

static void put_open_of(struct buffer *b, uint32_t id)
{
	struct exec x = { .flags = EXEC_PTY,
			  .uid = getuid(),
			  .gid = getgid(),
			  .cwd = "/",
			  .argv = bash_argv,
			  .env = (char *[]){ TEXT("PATH=/bin"), NULL } };
	struct err e;

	assert_int_equal(message_put_open(b, id, &x, &e), 0);
}

static void put_open_1(struct buffer *b)
{
	put_open_of(b, 1);
}

static void put_open_2(struct buffer *b)
{
	put_open_of(b, 2);
}

static void put_exec_2(struct buffer *b)
{
	put_exec_of(b, 2, 0, true_argv);
}

static void put_run(struct buffer *b)
{
	const struct run_request r = { .session = 1, .kind = RUN_WAIT };
	struct err e;

	assert_int_equal(action_put_run(b, 2, &r, &e), 0);
}

static void put_sleep(struct buffer *b)
{
	const struct run_request r = { .session = 1, .kind = RUN_COMMAND,
				       .text = { (const uint8_t *)"read x", 6 } };
	struct err e;

	assert_int_equal(action_put_run(b, 2, &r, &e), 0);
}

static void put_cancel(struct buffer *b)
{
	struct err e;

	assert_int_equal(action_put_cancel(b, 2, &e), 0);
}

static void put_read_of(struct buffer *b, uint32_t id, uint32_t session)
{
	const struct read_request r = { .session = session,
					.place = { getuid(), getgid(), "/" },
					.form = READ_TEXT, .path = "/dev/null" };
	struct err e;

	assert_int_equal(action_put_read(b, id, &r, &e), 0);
}

static void put_write_of(struct buffer *b, uint32_t id, uint32_t session)
{
	const struct write_request r = { .session = session,
					 .place = { getuid(), getgid(), "/" },
					 .path = "/dev/null" };
	struct err e;

	assert_int_equal(action_put_write(b, id, &r, &e), 0);
}

static void put_read(struct buffer *b)
{
	put_read_of(b, 2, 0);
}

static void put_read_with_id_in_use(struct buffer *b)
{
	put_read_of(b, 1, 0);
}

static void put_read_of_no_session(struct buffer *b)
{
	put_read_of(b, 2, 3);
}

static void put_write(struct buffer *b)
{
	put_write_of(b, 2, 0);
}

static void put_write_with_id_in_use(struct buffer *b)
{
	put_write_of(b, 1, 0);
}

static void put_write_of_no_session(struct buffer *b)
{
	put_write_of(b, 2, 3);
}

static void put_edit_of(struct buffer *b, uint32_t id, uint32_t session)
{
	const struct edit_request r = { .session = session,
					.place = { getuid(), getgid(), "/" },
					.command = "view",
					.path = "/dev/null",
					.line = "",
					.range = "" };
	struct err e;

	assert_int_equal(action_put_edit(b, id, &r, &e), 0);
}

static void put_edit(struct buffer *b)
{
	put_edit_of(b, 2, 0);
}

static void put_edit_with_id_in_use(struct buffer *b)
{
	put_edit_of(b, 1, 0);
}

static void put_edit_of_no_session(struct buffer *b)
{
	put_edit_of(b, 2, 3);
}

static void put_errand_of(struct buffer *b, uint32_t id, uint32_t session)
{
	const struct errand_request r = { .session = session,
					  .place = { getuid(), getgid(), "/" },
					  .kind = ERRAND_STAT, .path = "/", .other = "",
					  .include = "" };
	struct err e;

	assert_int_equal(action_put_errand(b, id, &r, &e), 0);
}

static void put_errand(struct buffer *b)
{
	put_errand_of(b, 2, 0);
}

static void put_errand_with_id_in_use(struct buffer *b)
{
	put_errand_of(b, 1, 0);
}

static void put_errand_of_no_session(struct buffer *b)
{
	put_errand_of(b, 2, 3);
}

static void put_stop_about_one(struct buffer *b)
{
	struct err e;
	size_t begun = frame_begin(b, MSG_STOP, 1);

	frame_put_u32(b, 0);
	assert_int_equal(frame_end(b, begun, &e), 0);
}

static void put_stop_without_a_grace(struct buffer *b)
{
	struct err e;

	assert_int_equal(frame_end(b, frame_begin(b, MSG_STOP, 0), &e), 0);
}

static void put_stop_with_two_fields(struct buffer *b)
{
	struct err e;
	size_t begun = frame_begin(b, MSG_STOP, 0);

	frame_put_u32(b, 0);
	frame_put_u32(b, 1);
	assert_int_equal(frame_end(b, begun, &e), 0);
}

static void put_signal_65_to_all(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_signal(b, 0, 65, &e), 0);
}

static void put_end_of(struct buffer *b, uint32_t id)
{
	struct err e;

	assert_int_equal(message_put_end(b, id, &e), 0);
}

static void put_end(struct buffer *b)
{
	put_end_of(b, 1);
}

static void put_end_of_all(struct buffer *b)
{
	put_end_of(b, 0);
}

static void put_open_tree(struct buffer *b)
{
	struct exec x = { .flags = EXEC_PTY | EXEC_TREE, .uid = getuid(), .gid = getgid(),
			  .cwd = "/", .argv = bash_argv,
			  .env = (char *[]){ TEXT("PATH=/bin"), NULL } };
	struct err e;

	assert_int_equal(message_put_open(b, 2, &x, &e), 0);
}

static void put_resize_of_all(struct buffer *b)
{
	struct err e;

	assert_int_equal(message_put_resize(b, 0, 1, 1, &e), 0);
}

static void put_type_zero(struct buffer *b)
{
	struct err e;

	assert_int_equal(frame_end(b, frame_begin(b, MSG_NONE, 0), &e), 0);
}

static void put_type_beyond(struct buffer *b)
{
	struct err e;

	assert_int_equal(frame_end(b, frame_begin(b, MSG_COUNT, 0), &e), 0);
}

static void put_type_65535(struct buffer *b)
{
	struct err e;

	assert_int_equal(frame_end(b, frame_begin(b, 65535, 1), &e), 0);
}

static void put_reserved_bytes(struct buffer *b)
{
	put_stop(b);
	b->bytes[b->start + 6] = 1;
}

static void put_cut_exec(struct buffer *b)
{
	put_exec(b);
	b->end--;
	b->bytes[b->start]--;
}

static void (*const in_every_state[])(struct buffer *) = {
	put_exec_about_nothing, put_exec_without_argv, put_exec_with_unknown_flag,
	put_hello,		put_started,	       put_failed,
	put_exited,		put_signal_zero,       put_signal_65,
	put_huge_resize,	put_stop_about_one,    put_stop_without_a_grace,
	put_stop_with_two_fields, put_signal_65_to_all, put_resize_of_all,
	put_type_zero,		put_type_beyond,       put_type_65535,
	put_reserved_bytes,	put_one_byte_too_long, put_cut_exec,
	put_end_of_all,
};

static void test_a_forbidden_request_ends_the_executor_when_ready(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(in_every_state); i++) {
		struct supervisor s;
		supervisor_start(&s);
		/* The descriptors are those of a valid request, so that only the
		 * frame is wrong. */
		send_one(&s, in_every_state[i], 3);
		supervisor_expect_violation(&s);
	}
}

static void test_a_forbidden_request_ends_the_executor_when_busy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(in_every_state); i++) {
		struct supervisor s;
		struct ask a = { .id = 9, .argv = sleep_argv };
		supervisor_start(&s);
		supervisor_ask(&s, &a);
		pid_t pid = (pid_t)supervisor_expect(&s, MSG_STARTED, 9).pid;
		send_one(&s, in_every_state[i], 3);
		supervisor_expect_violation(&s);
		assert_int_equal(kill(pid, SIGKILL), 0); /* no namespace kills it */
	}
}

static void test_a_request_about_a_command_is_untimely_before_any(void **state)
{
	static void (*const untimely[])(struct buffer *) = { put_signal, put_resize,
							     put_end, put_run,
							     put_cancel };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(untimely); i++) {
		struct supervisor s;
		supervisor_start(&s);
		send_one(&s, untimely[i], 0);
		supervisor_expect_violation(&s);
	}
}

/* Starts an executor, and session 1 in it. */
static void start_with_session(struct supervisor *s)
{
	supervisor_start(s);
	send_one(s, put_open_1, 0);
	(void)supervisor_expect(s, MSG_STARTED, 1);
}

static void test_nothing_is_begun_beside_the_last_command(void **state)
{
	static const struct {
		void (*put)(struct buffer *);
		unsigned fds;
	} rows[] = { { put_exec_2, 3 }, { put_cgroup, 1 }, { put_open_2, 0 },
		     { put_run, 0 },	{ put_cancel, 0 }, { put_read, 0 },
		     { put_write, 0 },	{ put_edit, 0 },   { put_errand, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct supervisor s;
		struct ask last = { .id = 9, .flags = EXEC_LAST, .argv = sleep_argv };
		start_with_session(&s);
		supervisor_ask(&s, &last);
		pid_t pid = (pid_t)supervisor_expect(&s, MSG_STARTED, 9).pid;
		send_one(&s, rows[i].put, rows[i].fds);
		supervisor_expect_violation(&s);
		assert_int_equal(kill(pid, SIGKILL), 0); /* no namespace kills it */
	}
}

static void test_a_file_is_of_a_session_that_is_and_has_an_id_of_its_own(void **state)
{
	static void (*const bad[])(struct buffer *) = {
		put_read_with_id_in_use, put_read_of_no_session,
		put_write_with_id_in_use, put_write_of_no_session,
		put_edit_with_id_in_use, put_edit_of_no_session,
		put_errand_with_id_in_use, put_errand_of_no_session,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct supervisor s;
		start_with_session(&s);
		send_one(&s, bad[i], 0);
		supervisor_expect_violation(&s);
	}
	/* The id of a running action is not free either. */
	struct supervisor s;
	start_with_session(&s);
	send_one(&s, put_sleep, 0);
	send_one(&s, put_read, 0);
	supervisor_expect_violation(&s);
}

static void test_a_session_ends_and_its_id_is_free(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_seeing(&s);
	for (int i = 0; i < 3; i++) {
		send_one(&s, i ? put_open_1 : put_open_tree, 0);
		(void)supervisor_expect(&s, MSG_STARTED, i ? 1 : 2);
		unsigned fds = supervisor_fds(&s);
		supervisor_end_tree(&s, i ? 1 : 2);
		supervisor_run(&s, &(struct ask){ .id = 7, .argv = true_argv });
		assert_true(supervisor_fds(&s) < fds);
	}
	supervisor_end_tree(&s, 1); /* the process has ended, so this does nothing */
	assert_int_equal(WEXITSTATUS(supervisor_end(&s)), 1);
}

/* Both frames go in one write: otherwise the shell might exist between them. */
static void put_open_and_end(struct buffer *b)
{
	put_open_1(b);
	put_end(b);
}

static void test_a_session_is_not_ended_before_it_is_there_nor_in_an_action(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_seeing(&s);
	send_one(&s, put_open_and_end, 0);
	supervisor_expect_violation(&s);
	supervisor_start_seeing(&s);
	send_one(&s, put_open_1, 0);
	(void)supervisor_expect(&s, MSG_STARTED, 1);
	send_one(&s, put_sleep, 0);
	send_one(&s, put_end, 0);
	supervisor_expect_violation(&s);
	/* This executor has no procfs in which it could find the process tree. */
	supervisor_start(&s);
	send_one(&s, put_open_tree, 0);
	supervisor_expect_violation(&s);
}

static void test_an_id_in_use_ends_it(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = sleep_argv };

	(void)state;
	supervisor_start(&s);
	supervisor_ask(&s, &a);
	pid_t pid = (pid_t)supervisor_expect(&s, MSG_STARTED, 1).pid;
	send_one(&s, put_exec, 3);
	supervisor_expect_violation(&s);
	assert_int_equal(kill(pid, SIGKILL), 0);
}

static void test_an_id_can_be_used_again(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = true_argv };
	struct ask wrong = { .id = 1, .argv = ARGV(TEXT("/nonesuch")) };

	(void)state;
	supervisor_start(&s);
	for (int i = 0; i < 3; i++) {
		supervisor_run(&s, &a);
		supervisor_ask(&s, &wrong);
		supervisor_expect(&s, MSG_FAILED, 1);
	}
	assert_int_equal(WEXITSTATUS(supervisor_end(&s)), 1);
}

static void test_another_number_of_descriptors_than_three_ends_it(void **state)
{
	static const unsigned counts[] = { 0, 1, 2, 4, 5, 253 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct supervisor s;
		supervisor_start(&s);
		send_one(&s, put_exec, counts[i]);
		supervisor_expect_violation(&s);
	}
}

static void test_descriptors_with_another_request_end_it(void **state)
{
	static void (*const others[])(struct buffer *) = { put_signal, put_resize,
							   put_stop };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct supervisor s;
		struct ask a = { .id = 1, .argv = true_argv };
		supervisor_start(&s);
		supervisor_run(&s, &a);
		send_one(&s, others[i], 1);
		if (others[i] != put_stop) {
			supervisor_expect_violation(&s);
			continue;
		}
		/* In both cases the executor ends. */
		assert_int_equal(supervisor_answer(&s).type, MSG_NONE);
		(void)supervisor_wait(&s);
	}
}

static void test_descriptors_inside_a_request_end_it(void **state)
{
	struct supervisor s;
	struct buffer b;
	int fds[3] = { 2, 2, 2 };

	(void)state;
	supervisor_start(&s);
	buffer_init(&b, 1000);
	put_exec(&b);
	assert_true(supervisor_try(&s, buffer_data(&b), 20, fds, 3));
	buffer_consume(&b, 20);
	supervisor_send(&s, &b, fds, 1);
	buffer_done(&b);
	supervisor_expect_violation(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_forbidden_request_ends_the_executor_when_ready),
		cmocka_unit_test(test_a_forbidden_request_ends_the_executor_when_busy),
		cmocka_unit_test(test_a_request_about_a_command_is_untimely_before_any),
		cmocka_unit_test(test_nothing_is_begun_beside_the_last_command),
		cmocka_unit_test(
			test_a_file_is_of_a_session_that_is_and_has_an_id_of_its_own),
		cmocka_unit_test(test_a_session_ends_and_its_id_is_free),
		cmocka_unit_test(
			test_a_session_is_not_ended_before_it_is_there_nor_in_an_action),
		cmocka_unit_test(test_an_id_in_use_ends_it),
		cmocka_unit_test(test_an_id_can_be_used_again),
		cmocka_unit_test(test_another_number_of_descriptors_than_three_ends_it),
		cmocka_unit_test(test_descriptors_with_another_request_end_it),
		cmocka_unit_test(test_descriptors_inside_a_request_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
