/* relay, terminal: carry bytes between a command's terminal and the supervisor's
 * pipes.  They are tested alone and through the executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "executor/process/relay.h"
#include "tests/unit/rounds.h"
#include "tests/unit/supervisor.h"

static void test_the_end_of_input_ends_a_reader(void **state)
{
	static const struct {
		const char *typed, *shown;
	} rows[] = {
		{ "", "" },
		{ "abc\n", "abc\r\nabc\r\n" },
		{ "abc", "abcabc" }, /* the first ^D only ends the incomplete line */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct on_terminal t;
		terminal_begin(&t, ARGV(TEXT("/bin/cat")));
		terminal_type(&t, rows[i].typed);
		own_close(&t.in);
		terminal_expect(&t, rows[i].shown);
		assert_int_equal(terminal_finish(&t).status, 0);
	}
}

static void test_the_end_of_input_is_no_end_without_a_character_for_it(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("stty eof '^-'; echo up; read line; echo never"));
	read_until(t.out, "up\r\n");
	own_close(&t.in);
	supervisor_signal(&t.s, 1, SIGKILL);
	terminal_expect(&t, "");
	assert_int_equal(terminal_finish(&t).status, SIGKILL);
}

/* The order of the two ends matters: all output first, then *exited*. */
static void test_nothing_is_lost_in_many_short_commands(void **state)
{
	enum { COMMANDS = ROUNDS_OF(6000) };
	struct supervisor s;
	struct ask a = { .flags = EXEC_PTY,
			 .argv = ARGV(TEXT("/bin/echo"), TEXT("a line")) };

	(void)state;
	supervisor_start(&s);
	for (uint32_t i = 1; i <= COMMANDS; i++) {
		char got[64] = "";
		int out[2];
		make_pipe(out);
		a.id = i;
		a.fds[1] = out[1];
		supervisor_run(&s, &a);
		(void)close(out[1]);
		assert_int_equal(fcntl(out[0], F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(read(out[0], got, sizeof(got)), 8);
		assert_string_equal(got, "a line\r\n");
		(void)close(out[0]);
	}
	(void)supervisor_end(&s);
}

static void test_much_output_arrives_whole_and_in_order(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("seq 1 300000"));
	AUTO_FREE char *got = read_all(t.out);
	char *at = got;
	for (long i = 1; i <= 300000; i++) {
		assert_int_equal(strtol(at, &at, 10), i);
		assert_memory_equal(at, "\r\n", 2);
		at += 2;
	}
	assert_string_equal(at, "");
	assert_int_equal(terminal_finish(&t).status, 0);
}

static void test_much_input_arrives_whole(void **state)
{
	enum { LINES = 20000 };
	struct on_terminal t;
	char line[64];

	(void)state;
	terminal_begin(&t, SH("stty -echo; echo up; cksum"));
	read_until(t.out, "up\r\n");
	for (int i = 0; i < LINES; i++) {
		int len = snprintf(line, sizeof(line), "this is line %d of it\n", i);
		assert_int_equal(io_write_all(t.in, line, (size_t)len), 0);
	}
	own_close(&t.in);
	AUTO_FREE char *got = read_all(t.out);
	AUTO_FREE char *expected = NULL;
	FILE *sum = popen("i=0; while [ $i -lt 20000 ]; do "
			  "echo \"this is line $i of it\"; i=$((i+1)); done | cksum",
			  "r");
	assert_non_null(sum);
	expected = read_all(fileno(sum));
	(void)pclose(sum);
	expected[strcspn(expected, "\n")] = '\0';
	got[strcspn(got, "\r")] = '\0';
	assert_string_equal(got, expected);
	assert_int_equal(terminal_finish(&t).status, 0);
}

static void test_output_that_nobody_reads_hangs_the_terminal_up(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, ARGV(TEXT("/usr/bin/yes")));
	read_until(t.out, "y\r\ny\r\n");
	own_close(&t.out);
	struct exited x = terminal_finish(&t);
	assert_int_equal(x.is_signaled, 1);
	assert_int_equal(x.status, SIGHUP);
}

static void test_output_that_waits_holds_this_command_and_no_other(void **state)
{
	struct on_terminal t;
	struct ask ping = { .id = 9, .argv = ARGV(TEXT("/bin/true")) };

	(void)state;
	terminal_begin(&t, ARGV(TEXT("/usr/bin/yes")));
	for (int i = 0; i < 100; i++)
		supervisor_run(&t.s, &ping);
	supervisor_signal(&t.s, 1, SIGKILL);
	for (int i = 0; i < 10; i++)
		supervisor_run(&t.s, &ping); /* 1's exit is reported later */
	AUTO_FREE char *got = read_all(t.out);
	assert_true(strlen(got) > 60000 && strlen(got) < 400000);
	assert_int_equal(terminal_finish(&t).status, SIGKILL);
}

static void test_a_process_that_writes_after_the_end_does_not_delay_it(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("trap '' HUP; yes & echo begun; exit 4"));
	AUTO_FREE char *got = read_all(t.out); /* reads until the terminal is closed */
	assert_non_null(strstr(got, "begun\r\n"));
	assert_int_equal(terminal_finish(&t).status, 4);
}

/* As full as a pipe gets when its pages are filled in parts. */
static bool is_pipe_full(void *terminal)
{
	const struct on_terminal *t = terminal;
	int waiting = 0;

	assert_int_equal(ioctl(t->out, FIONREAD, &waiting), 0);
	return waiting >= 16 << 10;
}

static bool is_sleeping(void *terminal)
{
	const struct on_terminal *t = terminal;
	char path[64], name[32] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", t->pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(name, sizeof(name), f));
	(void)fclose(f);
	return strcmp(name, "sleep\n") == 0;
}

/* The executor sleeps, instead of being woken by poll(2) again and again, while a
 * pipe is full, an input has ended or a terminal is closed. */
static void test_waiting_costs_no_processor_time(void **state)
{
	static const struct {
		const char *script;
		bool (*has_come_so_far)(void *terminal);
	} rows[] = {
		{ "yes", is_pipe_full },
		{ "exec sleep 1000", is_sleeping },
		{ "exec </dev/null >/dev/null 2>&1; exec sleep 1000", is_sleeping },
		{ "stty eof '^-'; exec sleep 1000", is_sleeping },
	};
	struct ask second = { .id = 2, .argv = ARGV(TEXT("/bin/true")) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct on_terminal t;
		terminal_begin(&t, SH(rows[i].script));
		own_close(&t.in);
		patience_wait(rows[i].has_come_so_far, &t);
		/* By the end of this command the executor has seen those events. */
		supervisor_run(&t.s, &second);
		supervisor_await_rest(&t.s);
		supervisor_signal(&t.s, 1, SIGKILL);
		free(read_all(t.out));
		(void)terminal_finish(&t);
	}
}

static void test_a_full_queue_stops_the_reading(void **state)
{
	struct terminal terminal;
	struct relay r;
	struct pollfd fds[RELAY_FDS];
	int in[2], out[2];
	char block[4096];

	(void)state;
	make_pipe(in);
	make_pipe(out);
	memset(block, '\n', sizeof(block));
	assert_int_equal(terminal_open(&terminal, 24, 80), 0);
	relay_init(&r, &terminal, in[0], out[1]);
	assert_int_equal(fcntl(in[1], F_SETFL, O_NONBLOCK), 0);
	/* No process reads the terminal: its buffer fills, then the relay's queue of
	 * 64 KiB and the pipe of 64 KiB; then no more can be written. */
	size_t sent = 0;
	for (int i = 0; i < 1000; i++) {
		ssize_t n = write(in[1], block, sizeof(block));
		sent += n > 0 ? (size_t)n : 0;
		size_t count = relay_watch(&r, fds);
		assert_true(poll(fds, count, 0) >= 0);
		relay_serve(&r, fds, count);
		assert_true(buffer_len(&r.typed) <= RELAY_MAX);
		assert_true(buffer_len(&r.shown) <= RELAY_MAX);
	}
	assert_true(sent < 400000);
	assert_int_equal(buffer_len(&r.typed), RELAY_MAX);
	relay_drain(&r);
	relay_done(&r);
	relay_done(NULL);
	(void)close(in[1]);
	(void)close(out[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_queue_stops_the_reading),
		cmocka_unit_test(test_the_end_of_input_ends_a_reader),
		cmocka_unit_test(
			test_the_end_of_input_is_no_end_without_a_character_for_it),
		cmocka_unit_test(test_nothing_is_lost_in_many_short_commands),
		cmocka_unit_test(test_much_output_arrives_whole_and_in_order),
		cmocka_unit_test(test_much_input_arrives_whole),
		cmocka_unit_test(test_output_that_nobody_reads_hangs_the_terminal_up),
		cmocka_unit_test(test_output_that_waits_holds_this_command_and_no_other),
		cmocka_unit_test(
			test_a_process_that_writes_after_the_end_does_not_delay_it),
		cmocka_unit_test(test_waiting_costs_no_processor_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
