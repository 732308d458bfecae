/* Tests a command on a terminal: how it sees the terminal and its size, which
 * signals it gets, and job control. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/terminal.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"
#include "tests/unit/supervisor.h"

/* An interactive bash that reads none of the user's files. */
#define BARE_BASH                                                               \
	ARGV(TEXT("/bin/bash"), TEXT("--norc"), TEXT("--noprofile"),            \
	     TEXT("--noediting"), TEXT("-i"))

static void test_the_terminal_is_the_command_s_three_and_its_controlling_one(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("for i in 0 1 2; do [ -t $i ] || echo no $i; done; "
		     "[ \"$(tty)\" = \"$(readlink /proc/$$/fd/1)\" ] || echo other;"
		     "echo tty > /dev/tty; stty size; stty -a | grep -o '[-]*iutf8'"));
	terminal_expect(&t, "tty\r\n31 97\r\niutf8\r\n");
	assert_int_equal(terminal_finish(&t).status, 0);
}

static void test_a_new_size_reaches_the_foreground(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("trap 'stty size; kill $!; exit 3' WINCH;"
		     "sleep 1000 & echo up; wait"));
	read_until(t.out, "up\r\n");
	supervisor_resize(&t.s, 1, 50, 132);
	terminal_expect(&t, "50 132\r\n");
	assert_int_equal(terminal_finish(&t).status, 3);
}

static void test_control_c_interrupts_the_foreground_job_only(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, BARE_BASH);
	terminal_type(&t, "sleep 1000 &\n");
	terminal_type(&t, "sh -c 'echo fore''ground; exec sleep 1000'\n");
	read_until(t.out, "foreground\r\n");
	terminal_type(&t, "\003");
	terminal_type(&t, "echo code=$?; jobs | grep -c Run\\ning\n");
	read_until(t.out, "code=130\r\n1\r\n");
	terminal_type(&t, "kill %1; wait; exit 7\n");
	free(read_all(t.out));
	assert_int_equal(terminal_finish(&t).status, 7);
}

static void test_control_z_stops_and_fg_goes_on(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, BARE_BASH);
	terminal_type(&t, "sh -c 'echo be''gun; read line; echo got $line'\n");
	read_until(t.out, "begun\r\n");
	terminal_type(&t, "\032");
	read_until(t.out, "Stopped");
	terminal_type(&t, "fg\nword\n");
	read_until(t.out, "got word\r\n");
	terminal_type(&t, "exit 0\n");
	free(read_all(t.out));
	assert_int_equal(terminal_finish(&t).status, 0);
}

static void test_signals_reach_a_command_on_a_terminal(void **state)
{
	struct on_terminal t;

	(void)state;
	terminal_begin(&t, SH("trap 'echo caught; exit 9' TERM; sleep 1000 &"
			      "echo up; wait"));
	read_until(t.out, "up\r\n");
	supervisor_signal(&t.s, 1, SIGTERM);
	terminal_expect(&t, "caught\r\n");
	assert_int_equal(terminal_finish(&t).status, 9);
}

/* Meanwhile another command runs from beginning to end, so that a turn of the
 * executor's loop has found the terminal without an open slave. */
static void test_a_terminal_that_all_closed_can_be_opened_again(void **state)
{
	AUTO_FREE char *closed = scene_path(state, "closed");
	AUTO_FREE char *seen = scene_path(state, "seen");
	AUTO_FREE char *script =
		text_format("exec </dev/null >/dev/null 2>&1; echo >%s; read x <%s;"
			    "echo again >/dev/tty",
			    closed, seen);
	struct on_terminal t;
	char line[2] = "";

	assert_int_equal(mkfifo(closed, 0600) | mkfifo(seen, 0600), 0);
	terminal_begin(&t, SH(script));
	AUTO_CLOSE int closes = open(closed, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(closes, line, sizeof(line)), 1);
	struct ask other = { .id = 2, .argv = ARGV(TEXT("/bin/true")) };
	assert_int_equal(supervisor_run(&t.s, &other).status, 0);
	AUTO_CLOSE int lets = open(seen, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(lets, "\n", 1), 1);
	terminal_expect(&t, "again\r\n");
	assert_int_equal(terminal_finish(&t).status, 0);
}

static void test_a_terminal_knows_its_mode(void **state)
{
	struct terminal t;
	struct termios mode;
	struct winsize size;

	(void)state;
	assert_int_equal(terminal_open(&t, 3, 5), 0);
	assert_true(isatty(t.slave));
	assert_int_equal(ioctl(t.slave, TIOCGWINSZ, &size), 0);
	assert_int_equal(size.ws_row, 3);
	assert_int_equal(size.ws_col, 5);
	assert_int_equal(terminal_eof_char(&t), 4);
	assert_true(terminal_is_by_line(&t));
	assert_int_equal(tcgetattr(t.slave, &mode), 0);
	mode.c_lflag &= ~(tcflag_t)ICANON;
	mode.c_cc[VEOF] = _POSIX_VDISABLE;
	assert_int_equal(tcsetattr(t.slave, TCSANOW, &mode), 0);
	assert_int_equal(terminal_eof_char(&t), -1);
	assert_false(terminal_is_by_line(&t));
	assert_int_equal(fcntl(t.master, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(t.slave, F_GETFD), FD_CLOEXEC);
	terminal_close(&t);
	terminal_close(&t);
	terminal_close(NULL);
	assert_int_equal(terminal_resize(&t, 1, 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_terminal_is_the_command_s_three_and_its_controlling_one),
		cmocka_unit_test(test_a_new_size_reaches_the_foreground),
		cmocka_unit_test(test_control_c_interrupts_the_foreground_job_only),
		cmocka_unit_test(test_control_z_stops_and_fg_goes_on),
		cmocka_unit_test(test_signals_reach_a_command_on_a_terminal),
		cmocka_unit_test_setup_teardown(
			test_a_terminal_that_all_closed_can_be_opened_again, scene_setup,
			scene_teardown),
		cmocka_unit_test(test_a_terminal_knows_its_mode),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
