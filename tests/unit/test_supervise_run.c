/* supervise: events besides the executor's messages are deadlines, signals, output,
 * the error of a child that fails before it is the executor, and descriptors that
 * come from inside. */
#include "sandbox/launch/supervise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/frame.h"
#include "tests/unit/stage.h"
#include "tests/unit/words.h"

#define SAY(text) .says = (text), .len = sizeof(text) - 1
#define UP	  WORD_HELLO WORD_STARTED

static void say(int channel, const char *text, size_t len)
{
	CHECK(send(channel, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* Takes the exec request and its three descriptors; keeps only the first two open. */
static void take_exec(int channel, int fds[3])
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	uint8_t body[4096];
	struct iovec bytes = { body, sizeof(body) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	CHECK(recvmsg(channel, &m, MSG_CMSG_CLOEXEC) > FRAME_HEADER);
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	CHECK(head && head->cmsg_type == SCM_RIGHTS);
	CHECK(head->cmsg_len == CMSG_LEN(3 * sizeof(int)));
	CHECK(body[4] == MSG_EXEC && body[8] == 1);
	memcpy(fds, CMSG_DATA(head), 3 * sizeof(int));
}

/* Takes the next request, which must have this type.  Returns its first field. */
static uint32_t take_request(int channel, uint8_t type)
{
	uint8_t head[FRAME_HEADER], body[64];

	CHECK(io_read_full(channel, head, sizeof(head)) == sizeof(head));
	CHECK(head[4] == type && head[8] == 1 && head[0] <= sizeof(body));
	CHECK(io_read_full(channel, body, head[0]) == head[0]);
	return body[1];
}

static struct result play(const struct stage *s)
{
	struct result r;

	if (!stage_play(s, &r))
		fail_msg("the supervisor hangs");
	return r;
}

static void test_a_deadline_ends_whoever_lives(void **state)
{
	static const struct stage stages[] = {
		{ SAY(""), .end = LIVES, .timeout_ms = 50 },
		{ SAY(WORD_HELLO), .end = LIVES, .timeout_ms = 50 },
		{ SAY(UP), .end = LIVES, .timeout_ms = 50 },
		{ SAY(UP), .end = CLOSES, .timeout_ms = 50 },
		{ SAY(UP "\x1c\0\0\0\5"), .end = LIVES, .timeout_ms = 50 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		struct result r = play(&stages[i]);
		assert_int_equal(r.status, RUN_TIMEOUT);
		assert_int_equal(r.exit_code, EXIT_TIMED_OUT);
		assert_int_equal(r.error.kind, ERR_NONE);
	}
}

static void test_a_deadline_that_is_far_changes_nothing(void **state)
{
	static const struct stage s = { SAY(UP WORD_EXITED("\0", "\7")), .end = ENDS,
					.timeout_ms = 3600000 };

	(void)state;
	assert_int_equal(play(&s).exit_code, 7);
}

/* Runs a supervisor whose child fails before it is the executor: the child sends
 * these bytes (a struct err, or nothing) as its error. */
static struct result play_failure(const void *bytes, size_t len, enum end end)
{
	const struct stage s = { .failure = bytes, .failure_len = len, .end = end };

	return play(&s);
}

static void test_the_childs_last_word_is_the_error(void **state)
{
	static const enum end ends[] = { ENDS_WITH_3, IS_KILLED, LIVES, CLOSES };
	struct err e = { .kind = ERR_NOT_FOUND,
			 .sys = 2,
			 .text = "mount /a: nothing there",
			 .remedy = "make it" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct result r = play_failure(&e, sizeof(e), ends[i]);
		assert_int_equal(r.status, RUN_SETUP_ERROR);
		assert_int_equal(r.exit_code, EXIT_HUTCH);
		assert_int_equal(r.error.kind, ERR_NOT_FOUND);
		assert_string_equal(r.error.text, "mount /a: nothing there");
		assert_string_equal(r.error.remedy, "make it");
	}
}

static void test_garbage_as_a_last_word_is_made_safe(void **state)
{
	struct err e;

	(void)state;
	memset(&e, 0x1b, sizeof(e));
	struct result r = play_failure(&e, sizeof(e), LIVES);
	assert_int_equal(r.status, RUN_SETUP_ERROR);
	assert_int_equal(r.error.kind, ERR_INTERNAL);
	assert_int_equal(strlen(r.error.text), ERR_TEXT_MAX - 1);
	assert_null(strchr(r.error.text, 0x1b));
	assert_null(strchr(r.error.remedy, 0x1b));
	/* An error without a kind (0) would be taken for success, so it becomes an
	 * internal error. */
	memset(&e, 0, sizeof(e));
	r = play_failure(&e, sizeof(e), LIVES);
	assert_int_equal(r.error.kind, ERR_INTERNAL);
}

static void test_half_a_last_word_is_none(void **state)
{
	struct err e = { .kind = ERR_NOT_FOUND, .text = "half" };

	(void)state;
	for (size_t len = 1; len < sizeof(e); len += 100) {
		struct result r = play_failure(&e, len, ENDS_WITH_3);
		assert_int_equal(r.status, RUN_SETUP_ERROR);
		assert_non_null(strstr(r.error.text, "ended with code 3"));
	}
}

static enum end write_much(int channel)
{
	static char much[200000];
	int fds[3];

	memset(much, 'x', sizeof(much));
	take_exec(channel, fds);
	say(channel, UP, sizeof(UP) - 1);
	CHECK(io_write_all(fds[1], much, sizeof(much)) == 0);
	CHECK(io_write_all(fds[1], "end", 3) == 0);
	say(channel, WORD_EXITED("\0", "\0"), sizeof(WORD_EXITED("\0", "\0")) - 1);
	return ENDS;
}

/* Reads one page at a time, so that most of the output is still in the pipe long
 * after the executor's end. */
static void count_slowly(int out)
{
	char page[4096];
	size_t all = 0;

	for (ssize_t n; (n = read(out, page, sizeof(page))) > 0; all += (size_t)n)
		(void)sched_yield();
	_exit(all == 200003 ? 0 : 1);
}

static void test_all_output_is_delivered_before_the_end(void **state)
{
	int ends[2], status = -1;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	/* In a sandbox of hutch the pipe cannot be made smaller than its
	 * default 64 KiB. */
	(void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
	pid_t reader = fork();
	assert_true(reader >= 0);
	if (reader == 0) {
		(void)close(ends[1]);
		count_slowly(ends[0]);
	}
	const struct stage s = { .play = write_much, .out = ends[1] };
	assert_int_equal(play(&s).status, RUN_EXITED);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

static enum end become_signalled(int channel)
{
	int fds[3];

	take_exec(channel, fds);
	say(channel, UP, sizeof(UP) - 1);
	CHECK(kill(getppid(), SIGUSR1) == 0);
	CHECK(take_request(channel, MSG_SIGNAL) == SIGUSR1);
	CHECK(kill(getppid(), SIGTERM) == 0);
	CHECK(take_request(channel, MSG_SIGNAL) == SIGTERM);
	say(channel, WORD_EXITED("\0", "\5"), sizeof(WORD_EXITED("\0", "\5")) - 1);
	return ENDS;
}

static void test_signals_are_handed_to_the_command(void **state)
{
	const struct stage s = { .play = become_signalled };

	(void)state;
	struct result r = play(&s);
	assert_int_equal(r.status, RUN_EXITED);
	assert_int_equal(r.exit_code, 5);
}

static enum end ignore_interrupts(int channel)
{
	int fds[3];

	take_exec(channel, fds);
	say(channel, UP, sizeof(UP) - 1);
	for (int i = 0; i < 2; i++) {
		CHECK(kill(getppid(), SIGINT) == 0);
		CHECK(take_request(channel, MSG_SIGNAL) == SIGINT);
	}
	CHECK(kill(getppid(), SIGINT) == 0);
	return LIVES;
}

static void test_the_third_interrupt_ends_it(void **state)
{
	const struct stage s = { .play = ignore_interrupts };

	(void)state;
	struct result r = play(&s);
	assert_int_equal(r.status, RUN_SIGNALED);
	assert_int_equal(r.signal, SIGINT);
	assert_int_equal(r.exit_code, 130);
}

static enum end terminate_early(int channel)
{
	(void)channel;
	CHECK(kill(getppid(), SIGUSR1) == 0); /* SIGUSR1 must have no effect */
	CHECK(kill(getppid(), SIGTERM) == 0);
	return LIVES;
}

static void test_before_the_command_runs_a_signal_ends_it(void **state)
{
	const struct stage s = { .play = terminate_early };

	(void)state;
	struct result r = play(&s);
	assert_int_equal(r.status, RUN_SIGNALED);
	assert_int_equal(r.exit_code, 143);
}

static enum end resize(int channel)
{
	int fds[3];

	take_exec(channel, fds);
	say(channel, UP, sizeof(UP) - 1);
	CHECK(kill(getppid(), SIGWINCH) == 0);
	(void)take_request(channel, MSG_RESIZE);
	say(channel, WORD_EXITED("\0", "\0"), sizeof(WORD_EXITED("\0", "\0")) - 1);
	return ENDS;
}

static void test_a_new_size_is_told_to_a_terminal(void **state)
{
	const struct stage s = { .play = resize, .flags = EXEC_PTY };

	(void)state;
	assert_int_equal(play(&s).status, RUN_EXITED);
}

/* Sends `len` bytes, and `count` descriptors with them. */
static void send_with(int channel, const char *text, size_t len, unsigned count)
{
	union {
		char space[CMSG_SPACE(253 * sizeof(int))];
		struct cmsghdr align;
	} control = { .align = { CMSG_LEN(count * sizeof(int)), SOL_SOCKET,
				 SCM_RIGHTS } };
	struct iovec bytes = { (void *)(uintptr_t)text, len };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	for (unsigned i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &channel,
		       sizeof(int));
	CHECK(sendmsg(channel, &m, MSG_NOSIGNAL) == (ssize_t)len);
}

static enum end send_descriptors(int channel)
{
	static const char hello[] = WORD_HELLO;

	for (size_t at = 0; at < sizeof(hello) - 1; at++)
		send_with(channel, hello + at, 1, 1);
	send_with(channel, WORD_STARTED, sizeof(WORD_STARTED) - 1, 253);
	send_with(channel, WORD_EXITED("\0", "\4"), sizeof(WORD_EXITED("\0", "\4")) - 1,
		  253);
	return ENDS;
}

/* stage_play() checks that the supervisor has as many descriptors at its end as at
 * its beginning. */
static void test_descriptors_from_inside_are_dropped(void **state)
{
	const struct stage s = { .play = send_descriptors };

	(void)state;
	struct result r = play(&s);
	assert_int_equal(r.status, RUN_EXITED);
	assert_int_equal(r.exit_code, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_deadline_ends_whoever_lives),
		cmocka_unit_test(test_a_deadline_that_is_far_changes_nothing),
		cmocka_unit_test(test_the_childs_last_word_is_the_error),
		cmocka_unit_test(test_garbage_as_a_last_word_is_made_safe),
		cmocka_unit_test(test_half_a_last_word_is_none),
		cmocka_unit_test(test_all_output_is_delivered_before_the_end),
		cmocka_unit_test(test_signals_are_handed_to_the_command),
		cmocka_unit_test(test_the_third_interrupt_ends_it),
		cmocka_unit_test(test_before_the_command_runs_a_signal_ends_it),
		cmocka_unit_test(test_a_new_size_is_told_to_a_terminal),
		cmocka_unit_test(test_descriptors_from_inside_are_dropped),
	};

	/* A program in the background of a shell without job control starts with
	 * SIGINT ignored. */
	(void)signal(SIGINT, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
