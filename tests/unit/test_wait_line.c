/* wait_line: the line that says what hutch waits for. */
#include "base/wait_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/list.h"
#include "base/note.h"
#include "base/own.h"
#include "tests/patience.h"

/* The times of a loop's turns, and what is written in each; the wait begins at 1000. */
static const struct {
	int64_t now;
	const char *written;
	int64_t due;
} turns[] = {
	{ 1000, "", 3000 },
	{ 2999, "", 3000 },
	{ 3000, "\rhutch: waiting for ^[ (2 s)\033[K", 4000 },
	{ 3001, "", 4000 },
	{ 4700, "\rhutch: waiting for ^[ (3 s)\033[K", 5700 },
	{ 605700, "\rhutch: waiting for ^[ (604 s)\033[K", 606700 },
};

static char *drawn(struct wait_line *w, const char *text, int64_t now)
{
	char *told = NULL;
	size_t size = 0;
	FILE *real = stderr, *mine = open_memstream(&told, &size);

	assert_non_null(mine);
	stderr = mine;
	if (text)
		wait_line_draw(w, text, now);
	else
		wait_line_end(w);
	stderr = real;
	assert_int_equal(fclose(mine), 0);
	return told;
}

static void test_the_line_comes_after_two_seconds_and_then_each_second(void **state)
{
	struct wait_line w = { .began_ms = 1000, .due_ms = 1000 + WAIT_LINE_MS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		AUTO_FREE char *told = drawn(&w, "waiting for \033", turns[i].now);
		assert_string_equal(told, turns[i].written);
		assert_int_equal(wait_line_due(&w), turns[i].due);
	}
	AUTO_FREE char *end = drawn(&w, NULL, 0);
	assert_string_equal(end, "\r\033[K");
	AUTO_FREE char *after = drawn(&w, "waiting", 700000);
	assert_string_equal(after, "");
}

static void test_a_short_wait_writes_nothing(void **state)
{
	struct wait_line w = { .began_ms = 1000, .due_ms = 1000 + WAIT_LINE_MS };
	AUTO_FREE char *turn = drawn(&w, "waiting", 2500);
	AUTO_FREE char *end = drawn(&w, NULL, 0);

	(void)state;
	assert_string_equal(turn, "");
	assert_string_equal(end, "");
}

struct screen {
	int master, was; /* `was`: the test's own stderr */
};

/* Makes a terminal of `columns` this test's stderr. */
static void screen_begin(struct screen *s, unsigned short columns)
{
	const struct winsize size = { .ws_row = 24, .ws_col = columns };

	s->was = dup(2);
	s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(s->was >= 0 && s->master >= 0);
	assert_int_equal(grantpt(s->master) | unlockpt(s->master), 0);
	AUTO_CLOSE int slave = open(ptsname(s->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
	assert_int_equal(dup2(slave, 2), 2);
}

static void screen_end(struct screen *s)
{
	assert_int_equal(dup2(s->was, 2), 2);
	(void)close(s->was);
	(void)close(s->master);
}

static void test_only_a_terminal_gets_the_line_and_not_a_quiet_one(void **state)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int64_t due[4];
	struct wait_line w;
	struct screen s;

	(void)state;
	assert_int_equal(setenv("TERM", "xterm", 1) | unsetenv(NOTE_VARIABLE), 0);
	screen_begin(&s, 80);
	wait_line_begin(&w, 1000);
	due[0] = wait_line_due(&w);
	assert_int_equal(note_silence(), 0);
	wait_line_begin(&w, 1000);
	due[1] = wait_line_due(&w);
	assert_int_equal(unsetenv(NOTE_VARIABLE) | setenv("TERM", "dumb", 1), 0);
	wait_line_begin(&w, 1000);
	due[2] = wait_line_due(&w);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	(void)dup2(null, 2);
	wait_line_begin(&w, 1000);
	due[3] = wait_line_due(&w);
	screen_end(&s);
	assert_int_equal(due[0], 1000 + WAIT_LINE_MS);
	for (size_t i = 1; i < ARRAY_LEN(due); i++)
		assert_int_equal(due[i], 0);
}

static void test_the_line_is_cut_to_the_terminal(void **state)
{
	struct wait_line w = { .began_ms = 0, .due_ms = 1 };
	struct screen s;

	(void)state;
	screen_begin(&s, 20);
	AUTO_FREE char *told = drawn(&w, "waiting for sandbox 'box' to end", 5000);
	screen_end(&s);
	assert_string_equal(told, "\rhutch: waiting for \033[K");
}

/* The child draws and erases while this process is blocked in read(2). */
static void test_a_child_draws_while_a_call_blocks(void **state)
{
	char text[256] = "";
	size_t len = 0;
	struct wait_line w;
	struct screen s;

	(void)state;
	assert_int_equal(setenv("TERM", "xterm", 1) | unsetenv(NOTE_VARIABLE), 0);
	(void)alarm(PATIENCE_S);
	screen_begin(&s, 80);
	wait_line_start(&w, "waiting");
	while (!strstr(text, "\033[K"))
		len += (size_t)read(s.master, text + len, sizeof(text) - 1 - len);
	wait_line_stop(&w);
	const ssize_t more = read(s.master, text + len, sizeof(text) - 1 - len);
	screen_end(&s);
	(void)alarm(0);
	assert_true(more > 0);
	assert_memory_equal(text, "\rhutch: waiting (", 17);
	assert_string_equal(text + len + (size_t)more - 7, "\033[K\r\033[K");
	assert_int_equal(w.teller, 0);
	assert_int_equal(w.leash, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_line_comes_after_two_seconds_and_then_each_second),
		cmocka_unit_test(test_a_short_wait_writes_nothing),
		cmocka_unit_test(test_only_a_terminal_gets_the_line_and_not_a_quiet_one),
		cmocka_unit_test(test_the_line_is_cut_to_the_terminal),
		cmocka_unit_test(test_a_child_draws_while_a_call_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
