/* session, screen: show an agent the text of real programs on a real terminal.
 * tests/unit/test_screen.c tests the screen byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "tests/unit/actor.h"
#include "tests/unit/in_session.h"

static struct run_request request(uint32_t kind, const char *text)
{
	return (struct run_request){ .session = 1, .kind = kind, .text = bytes_of(text) };
}

/* Sends a request, and waits until its command has shown `content` and still runs,
 * or has ended. */
static void expect(uint32_t kind, const char *text, uint32_t state, const char *content)
{
	if (state == REPORT_NO_CHANGE) {
		actor_show(&a, request(kind, text), content);
		return;
	}
	struct act x = actor_do(&a, request(kind, text), state);

	assert_string_equal(x.content, content);
	act_done(&x);
}

static const struct {
	const char *command, *content;
} rows[] = {
	{ "printf '   x\\n\\ty\\n'", "x\n        y" },
	{ "printf 'a\\rb\\n'", "b" },
	{ "printf 'dos\\r\\nline\\r\\n'", "dos\nline" },
	{ "for i in 1 2 3; do printf \"\\r$i of 3\"; done; echo", "3 of 3" },
	{ "printf 'a   \\n\\n b\\n'", "a\n\n b" },
	{ "printf '\\033[1;31mred\\033[0m \\033]0;title\\007x\\n'", "red x" },
	{ "printf 'one\\ntwo\\n'; printf '\\033[2A\\033[2Kup\\033[2B\\n'", "up\ntwo" },
	{ "echo old; clear; echo new", "new" },
	{ "printf 'h\\303\\251 \\346\\274\\242\\377\\n'",
	  "h\xc3\xa9 \xe6\xbc\xa2\xef\xbf\xbd" },
	{ "echo before; printf '\\033[?1049h\\033[Hfull\\033[?1049l'; echo after",
	  "before\nafter" },
	{ "printf '%01200d\\n' 7 | tee long; cut -c1191- long; rm long", NULL },
	{ "tput cols; tput lines", "1000\n1000" },
	/* No terminal mode that one command sets remains for the next. */
	{ "printf '\\033[?1049h\\033[5;9r\\033[?6h\\033[4h\\033[?7l\\033(0'", "" },
	{ "printf '1234\\rX\\nqqq\\n'", "X234\nqqq" },
	{ "stty -icanon; printf 'ab\\033[6n'; read -d R x; echo \"<${x#*[}>\"",
	  "ab<1;3>" },
	{ "stty -icanon; printf '\\033[c'; read -d c x; echo \"<${x#*[}>\"", "<?1;2>" },
};

static void test_output_is_what_a_person_sees(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].content) {
			actor_check(&a, rows[i].command, rows[i].content, 0);
			continue;
		}
		struct act x = actor_run(&a, rows[i].command);
		assert_int_equal(x.len, 1200 + 1 + 10);
		assert_string_equal(x.content + 1199, "7\n0000000007");
		act_done(&x);
	}
}

static void test_each_report_has_what_is_new(void **state)
{
	(void)state;
	expect(RUN_COMMAND, "read -p 'Name? ' n && echo Hello $n", REPORT_NO_CHANGE,
	       "Name?");
	expect(RUN_INPUT, "Ann", REPORT_COMPLETED, "Hello Ann");
	expect(RUN_COMMAND,
	       "echo get; printf '10%%'; read x; printf '\\r20%%'; read x; "
	       "printf '\\r100%%\\n'; echo done",
	       REPORT_NO_CHANGE, "get\n10%");
	expect(RUN_WAIT, "", REPORT_NO_CHANGE, "");
	expect(RUN_INPUT, "x", REPORT_NO_CHANGE, "20%");
	expect(RUN_INPUT, "x", REPORT_COMPLETED, "100%\ndone");
	expect(RUN_COMMAND, "cat", REPORT_NO_CHANGE, "");
	expect(RUN_INPUT, "as typed", REPORT_NO_CHANGE, "as typed");
	expect(RUN_INPUT, "as typed", REPORT_NO_CHANGE, "as typed");
	expect(RUN_KEY, "C-d", REPORT_COMPLETED, "");
}

/* A key that sends a signal is shown as ^C, but not if the terminal's signals are
 * turned off. */
static void test_keys_that_are_signals_show(void **state)
{
	(void)state;
	/* The program prints "up" when it is in the foreground. */
	expect(RUN_COMMAND, "sh -c 'echo up; exec sleep 1000'", REPORT_NO_CHANGE, "up");
	expect(RUN_KEY, "C-c", REPORT_COMPLETED, "^C");
	expect(RUN_COMMAND, "sh -c 'echo up; exec sleep 1000'", REPORT_NO_CHANGE, "up");
	expect(RUN_KEY, "C-z", REPORT_COMPLETED,
	       "^Z\n[1]+  Stopped                 sh -c 'echo up; exec sleep 1000'");
	struct act x = actor_run(&a, "p=$(jobs -p); disown %1; kill -9 $p");
	act_done(&x);
	expect(RUN_COMMAND, "trap 'echo caught; exit 3' INT; printf busy; read x; read x",
	       REPORT_NO_CHANGE, "busy");
	expect(RUN_COMMAND, "", REPORT_BUSY, "");
	expect(RUN_KEY, "C-c", REPORT_COMPLETED, "^Ccaught");
	expect(RUN_COMMAND, "stty raw; echo up; head -c 1 | od -An -tx1; stty -raw",
	       REPORT_NO_CHANGE, "up");
	expect(RUN_KEY, "C-c", REPORT_COMPLETED, "03");
}

/* Readline echoes keys only if the terminal does, and the session's terminal has
 * echo off. */
static void test_keys_that_readline_echoes_are_not_told(void **state)
{
	(void)state;
	expect(RUN_COMMAND, "PS1='> ' bash --norc -i", REPORT_NO_CHANGE, ">");
	expect(RUN_INPUT, "echo $((1 + 1))", REPORT_NO_CHANGE, "2\n>");
	expect(RUN_INPUT, "printf 'x\\ny'; echo", REPORT_NO_CHANGE, "x\ny\n>");
	expect(RUN_INPUT, "eval echo eval", REPORT_NO_CHANGE, "eval\n>");
	expect(RUN_INPUT, "exit", REPORT_COMPLETED, "exit"); /* bash prints that itself */
}

static void test_a_full_screen_program_is_seen_while_it_runs(void **state)
{
	(void)state;
	expect(RUN_COMMAND,
	       "echo first; read x; printf '\\033[?1049h\\033[2;3Hmenu'; read x; "
	       "printf '\\033[4;1Hstatus'; read x; printf '\\033[?1049l'; "
	       "echo last",
	       REPORT_NO_CHANGE, "first");
	expect(RUN_INPUT, "", REPORT_NO_CHANGE, "menu");
	expect(RUN_INPUT, "", REPORT_NO_CHANGE, "status");
	expect(RUN_INPUT, "", REPORT_COMPLETED, "last");
}

/* A command that prints 50,000 lines: the agent gets the last 10,000 or so, of which
 * the middle is cut out. */
static void test_fifty_thousand_lines_become_a_window(void **state)
{
	struct run_request r = request(RUN_COMMAND,
				       "for i in {1..50000}; do echo Line $i; done");

	(void)state;
	struct act x = actor_do(&a, r, REPORT_COMPLETED);
	assert_in_range(x.report.lines, 10001, 11360);
	assert_non_null(strstr(x.content, "\nLine 40000\n"));
	assert_string_equal(x.content + x.len - 11, "\nLine 50000");
	assert_int_equal(x.len, 30047);
	act_done(&x);
	r.flags = RUN_WHOLE;
	x = actor_do(&a, r, REPORT_COMPLETED);
	AUTO_FREE char *first =
		text_format("Line %u\n", 50001 - (unsigned)x.report.lines);
	assert_int_equal(strncmp(x.content, first, strlen(first)), 0);
	assert_int_equal(x.len, x.report.lines * 11 - 1);
	act_done(&x);
	r.text = bytes_of("seq 5000");
	x = actor_do(&a, r, REPORT_COMPLETED);
	assert_int_equal(x.report.lines, 0);
	assert_int_equal(x.report.cut, 0);
	assert_int_equal(strncmp(x.content, "1\n2\n", 4), 0);
	act_done(&x);
}

/* A program asks the terminal without end and never reads the answers: their number
 * is bounded, and the shell does not run them as commands. */
static void test_answers_that_nobody_reads(void **state)
{
	(void)state;
	struct act x =
		actor_run(&a, "yes \"$(printf '\\033[6n\\033[c')\" | head -n 200000");
	assert_int_equal(x.report.exit_code, 0);
	act_done(&x);
	actor_check(&a, "read -t 0 x; echo $? \"<$x>\"", "1 <>", 0);
}

#ifndef __SANITIZE_ADDRESS__
/* The executor's memory for old output is freed when a session is idle. */
static void test_an_idle_session_has_forgotten_all(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "printf '\\303\\251\\n'; seq 300000");
	act_done(&x);
	actor_check(&a, "true", "", 0);
	unsigned long before = supervisor_memory(&a.s);
	for (uint32_t id = 2; id < 10; id++) {
		actor_open(&a, id, "/", NULL);
		x = actor_expect(&a, id);
		act_done(&x);
		uint32_t run = actor_send_run(&a, id, RUN_COMMAND,
					      "printf '\\303\\251\\n'; seq 30000");
		x = actor_expect(&a, run);
		act_done(&x);
	}
	assert_in_range(supervisor_memory(&a.s), 0, before + 8 * 256);
}
#endif

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_output_is_what_a_person_sees),
		TEST(test_each_report_has_what_is_new),
		TEST(test_keys_that_are_signals_show),
		TEST(test_keys_that_readline_echoes_are_not_told),
		TEST(test_a_full_screen_program_is_seen_while_it_runs),
		TEST(test_fifty_thousand_lines_become_a_window),
		TEST(test_answers_that_nobody_reads),
#ifndef __SANITIZE_ADDRESS__
		TEST(test_an_idle_session_has_forgotten_all),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
