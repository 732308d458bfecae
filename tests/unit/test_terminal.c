#include "sandbox/kernel/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/scene.h"

static void test_the_size_or_the_usual_one(void **state)
{
	const struct winsize sizes[] = { { 50, 132, 0, 0 },
					 { 0, 100, 0, 0 },
					 { 0, 0, 0, 0 } };
	const uint32_t wanted[][2] = { { 50, 132 }, { 24, 100 }, { 24, 80 } };
	uint32_t rows, cols;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		int ours, theirs;
		assert_int_equal(openpty(&ours, &theirs, NULL, NULL, &sizes[i]), 0);
		terminal_size(theirs, &rows, &cols);
		assert_int_equal(rows, wanted[i][0]);
		assert_int_equal(cols, wanted[i][1]);
		(void)close(ours);
		(void)close(theirs);
	}
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	terminal_size(null, &rows, &cols);
	assert_int_equal(rows, 24);
	assert_int_equal(cols, 80);
}

static void test_raw_and_back(void **state)
{
	struct termios before, raw, after;
	struct terminal t;
	int ours, theirs;
	struct err e;

	(void)state;
	assert_int_equal(openpty(&ours, &theirs, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(theirs, &before), 0);
	assert_true(before.c_lflag & (ICANON | ISIG));
	assert_int_equal(terminal_open(&t, theirs, &e), 0);
	terminal_restore(&t); /* not raw: changes nothing */
	assert_int_equal(terminal_raw(&t, &e), 0);
	assert_int_equal(tcgetattr(theirs, &raw), 0);
	assert_int_equal(raw.c_lflag & (ICANON | ISIG | ECHO), 0);
	terminal_restore(&t);
	assert_int_equal(tcgetattr(theirs, &after), 0);
	assert_int_equal(after.c_lflag, before.c_lflag);
	assert_int_equal(after.c_iflag, before.c_iflag);
	assert_int_equal(after.c_oflag, before.c_oflag);
	assert_memory_equal(after.c_cc, before.c_cc, sizeof(before.c_cc));
	terminal_restore(&t);
	(void)close(ours);
	(void)close(theirs);
}

static void test_dev_null_is_no_terminal(void **state)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct terminal t = { .fd = -1 };
	struct err e;

	(void)state;
	assert_int_equal(terminal_open(&t, null, &e), -1);
	assert_non_null(strstr(e.text, "terminal's modes"));
	assert_int_equal(t.fd, -1);
	terminal_restore(&t);
}

/* Runs as a background job of its terminal, which the kernel would stop at
 * tcsetattr(3). */
static void play_background(void *arg)
{
	int ours, theirs;
	struct terminal t;
	struct err e;

	(void)arg;
	CHECK(openpty(&ours, &theirs, NULL, NULL, NULL) == 0);
	CHECK(setsid() > 0);
	CHECK(ioctl(theirs, TIOCSCTTY, 0) == 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setpgid(0, 0) == 0);
		CHECK(terminal_open(&t, theirs, &e) == 0);
		CHECK(terminal_raw(&t, &e) == 0);
		terminal_restore(&t);
		_exit(0);
	}
	int status;
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_in_the_background_it_does_not_stop(void **state)
{
	(void)state;
	scene_child(play_background, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_size_or_the_usual_one),
		cmocka_unit_test(test_raw_and_back),
		cmocka_unit_test(test_dev_null_is_no_terminal),
		cmocka_unit_test(test_in_the_background_it_does_not_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
