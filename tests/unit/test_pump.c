/* A pump never blocks and never spins: each test runs one only when poll(2)
 * permits, as the supervisor does, and an alarm ends a test that hangs. */
#include "sandbox/kernel/pump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

#define TURNS_MAX 100000 /* a pump that takes more turns spins */

static void make_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*ret_read = ends[0];
	*ret_write = ends[1];
}

/* Runs the pump until it has to wait.  Returns the number of its steps. */
static int turn(struct pump *p)
{
	for (int turns = 0; turns < TURNS_MAX; turns++) {
		struct pollfd w = pump_poll(p);
		if (w.fd < 0 || poll(&w, 1, 0) == 0)
			return turns;
		pump_run(p);
	}
	fail_msg("it spins");
	return -1;
}

static size_t read_now(int fd, char *to, size_t size)
{
	size_t have = 0;

	while (have < size && scene_readable(fd, 0)) {
		ssize_t n = read(fd, to + have, size - have);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	return have;
}

static const enum pump_mode modes[] = { PUMP_SPLICE, PUMP_COPY, PUMP_VISIBLE };

static void test_bytes_and_the_end_pass(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct pump p;
		int in, from, to, out;
		char got[64];
		make_pipe(&from, &in);
		make_pipe(&out, &to);
		pump_init(&p, from, to, modes[i]);
		assert_true(pump_is_open(&p));
		assert_int_equal(turn(&p), 0);
		assert_int_equal(write(in, "hello", 5), 5);
		assert_true(turn(&p) > 0);
		assert_int_equal(read_now(out, got, sizeof(got)), 5);
		assert_memory_equal(got, "hello", 5);
		assert_int_equal(write(in, "last", 4), 4);
		(void)close(in);
		turn(&p);
		assert_false(pump_is_open(&p));
		assert_int_equal(pump_poll(&p).fd, -1);
		pump_run(&p); /* does nothing after the pump's end */
		assert_int_equal(read_now(out, got, sizeof(got)), 4);
		assert_int_equal(read(out, got, 1), 0);
		(void)close(out);
	}
}

static void test_a_reader_that_is_gone_ends_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct pump p;
		int in, from, to, out;
		make_pipe(&from, &in);
		make_pipe(&out, &to);
		pump_init(&p, from, to, modes[i]);
		(void)close(out);
		assert_int_equal(write(in, "x", 1), 1);
		turn(&p);
		assert_false(pump_is_open(&p));
		assert_int_equal(write(in, "x", 1), -1); /* SIGPIPE is ignored here */
		(void)close(in);
	}
}

/* If the reader takes nothing, the pump stops, waits only for room, and goes on when
 * there is some. Nothing is lost, and little is buffered. */
static void test_a_writer_that_is_blocked_waits_for_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		static char block[32768], got[1 << 20];
		struct pump p;
		int in, from, to, out;
		size_t sent = 0, received = 0;
		make_pipe(&from, &in);
		make_pipe(&out, &to);
		memset(block, 'x', sizeof(block));
		assert_int_equal(fcntl(in, F_SETFL, O_NONBLOCK), 0);
		pump_init(&p, from, to, modes[i]);
		for (ssize_t n; (n = write(in, block, sizeof(block))) > 0;
		     sent += (size_t)n)
			turn(&p);
		assert_true(sent < 512u << 10);
		assert_int_equal(pump_poll(&p).fd, to);
		assert_int_equal(pump_poll(&p).events, POLLOUT);
		(void)close(in);
		while (pump_is_open(&p)) {
			received += read_now(out, got, sizeof(got));
			assert_true(turn(&p) > 0 || received);
		}
		received += read_now(out, got, sizeof(got));
		assert_int_equal(received, sent);
		(void)close(out);
	}
}

/* The output is a file opened with O_APPEND, for which splice(2) fails with EINVAL. */
/* Fills the pipe, lets the pump take all of it, and returns the pipe's size. */
static int size_after_flood(enum pump_mode mode, size_t len, bool may_widen)
{
	char *flood = calloc(1, len), *got = malloc(len);
	struct pump p;
	int in, from, to, out;

	make_pipe(&from, &in);
	make_pipe(&out, &to);
	pump_init(&p, from, to, mode);
	p.may_widen = may_widen;
	assert_int_equal(write(in, flood, len), len);
	turn(&p);
	assert_int_equal(read_now(out, got, len), len);
	int size = fcntl(from, F_GETPIPE_SZ);
	(void)close(in);
	pump_done(&p);
	(void)close(out);
	free(flood);
	free(got);
	return size;
}

static void test_only_a_full_pipe_of_hutch_s_is_widened(void **state)
{
	enum { FULL = 64 << 10 };

	(void)state;
	assert_int_equal(size_after_flood(PUMP_SPLICE, FULL, true), 256 << 10);
	assert_int_equal(size_after_flood(PUMP_SPLICE, FULL, false), FULL);
	assert_int_equal(size_after_flood(PUMP_SPLICE, FULL - 1, true), FULL);
	assert_int_equal(size_after_flood(PUMP_COPY, FULL, false), FULL);
}

static void test_a_file_that_is_appended_to(void **state)
{
	AUTO_FREE char *path = scene_path(state, "log");
	struct pump p;
	int in, from;

	scene_file(state, "log", "old ");
	make_pipe(&from, &in);
	pump_init(&p, from, open(path, O_WRONLY | O_APPEND | O_CLOEXEC), PUMP_FILE);
	assert_int_equal(write(in, "new", 3), 3);
	(void)close(in);
	turn(&p);
	assert_false(pump_is_open(&p));
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char got[16];
	assert_int_equal(read(fd, got, sizeof(got)), 7);
	assert_memory_equal(got, "old new", 7);
}

static void test_a_file_as_a_source(void **state)
{
	AUTO_FREE char *path = scene_path(state, "source");
	struct pump p;
	int to, out;
	char got[16];

	scene_file(state, "source", "content");
	make_pipe(&out, &to);
	pump_init(&p, open(path, O_RDONLY | O_CLOEXEC), to, PUMP_SPLICE);
	turn(&p);
	assert_false(pump_is_open(&p));
	assert_int_equal(read(out, got, sizeof(got)), 7);
	(void)close(out);
}

/* The output is a socket whose peer reads no more, as for a parent that reads its
 * child's output through a socketpair. */
static void test_a_socket_that_takes_no_more(void **state)
{
	struct pump p;
	int in, from, pair[2];
	char block[4096] = { 0 };

	(void)state;
	make_pipe(&from, &in);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fcntl(in, F_SETFL, O_NONBLOCK), 0);
	pump_init(&p, from, pair[0], PUMP_COPY);
	while (write(in, block, sizeof(block)) > 0)
		turn(&p);
	assert_int_equal(pump_poll(&p).fd, pair[0]);
	(void)close(pair[1]);
	turn(&p);
	assert_false(pump_is_open(&p));
	(void)close(in);
}

static void test_done_twice_and_a_half_pump(void **state)
{
	struct pump p;
	int in, from;

	(void)state;
	make_pipe(&from, &in);
	pump_init(&p, from, -1, PUMP_COPY);
	assert_false(pump_is_open(&p));
	pump_run(&p);
	pump_done(&p);
	pump_done(&p);
	pump_done(NULL);
	assert_int_equal(write(in, "x", 1), -1);
	(void)close(in);
}

/* Pieces of output as the pump reads them, with control sequences that must not
 * reach the terminal, however the text is cut. */
static const struct {
	const char *pieces[4];
	const char *shown;
} cuts[] = {
	{ { "plain\n" }, "plain\n" },
	{ { "\033]0;title\a" }, "^[]0;title^G" },
	{ { "\033", "[31m" }, "^[[31m" },
	{ { "\xc2", "\x9b" "31m" }, "M-^[31m" },
	{ { "a\xc2", "\x9b", "31m" }, "aM-^[31m" },
	{ { "\xc2", "\xa9" }, "\xc2\xa9" },
	{ { "\xc2", "\xc2", "\x9d" "52;" }, "\xc2M-^]52;" },
	{ { "\xc2" }, "\xc2" },
	{ { "\xc2", "\033" }, "\xc2^[" },
	{ { "\xe2\x82", "\xac" }, "\xe2\x82\xac" },
	{ { "line\r", "\nline" }, "line\r\nline" },
	{ { "over\r", "write" }, "over^Mwrite" },
	{ { "\r", "\r", "\n" }, "^M\r\n" },
	{ { "end\r" }, "end^M" },
};

static void test_the_output_does_not_depend_on_the_cuts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		struct pump p;
		int in, from, to, out;
		char got[64] = { 0 };
		make_pipe(&from, &in);
		make_pipe(&out, &to);
		pump_init(&p, from, to, PUMP_VISIBLE);
		for (size_t k = 0; k < 4 && cuts[i].pieces[k]; k++) {
			const char *piece = cuts[i].pieces[k];
			assert_int_equal(io_write_all(in, piece, strlen(piece)), 0);
			turn(&p);
		}
		(void)close(in);
		turn(&p);
		assert_false(pump_is_open(&p));
		(void)read_now(out, got, sizeof(got) - 1);
		assert_string_equal(got, cuts[i].shown);
		(void)close(out);
	}
}

/* A reader that has closed the pipe is no failure.  A full disk is one, whose errno
 * is kept. */
static void test_why_a_write_failed_is_remembered(void **state)
{
	static const struct {
		const char *path; /* NULL: a pipe without a reader */
		int failed;
	} rows[] = { { "/dev/full", ENOSPC }, { "/dev/null", 0 }, { NULL, 0 } };

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(modes); i++) {
		const char *path = rows[i / ARRAY_LEN(modes)].path;
		int from, in, reader = -1,
			      to = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
		struct pump p;

		make_pipe(&from, &in);
		if (!path)
			make_pipe(&reader, &to);
		own_close(&reader);
		assert_int_equal(write(in, "text\n", 5), 5);
		own_close(&in);
		pump_init(&p, from, to, modes[i % ARRAY_LEN(modes)]);
		(void)turn(&p);
		assert_false(pump_is_open(&p));
		assert_int_equal(p.failed, rows[i / ARRAY_LEN(modes)].failed);
		pump_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_and_the_end_pass),
		cmocka_unit_test(test_a_reader_that_is_gone_ends_it),
		cmocka_unit_test(test_a_writer_that_is_blocked_waits_for_room),
		cmocka_unit_test(test_only_a_full_pipe_of_hutch_s_is_widened),
		cmocka_unit_test(test_a_file_that_is_appended_to),
		cmocka_unit_test(test_a_file_as_a_source),
		cmocka_unit_test(test_a_socket_that_takes_no_more),
		cmocka_unit_test(test_done_twice_and_a_half_pump),
		cmocka_unit_test(test_the_output_does_not_depend_on_the_cuts),
		cmocka_unit_test(test_why_a_write_failed_is_remembered),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
