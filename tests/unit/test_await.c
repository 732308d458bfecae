/* await: waits for events of one descriptor.  No test waits for time to pass. */
#include "base/await.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"

#define PAST   1
#define FUTURE INT64_MAX

static void test_a_file_that_is_there_is_found_at_any_deadline(void **state)
{
	static const int64_t times[] = { PAST, FUTURE, 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(await_ready(ends[0], POLLIN, PAST), 0);
	assert_int_equal(await_ready(ends[1], POLLOUT, 0), 1);
	assert_int_equal(write(ends[1], "x", 1), 1);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		assert_int_equal(await_ready(ends[0], POLLIN, times[i]), 1);
	assert_int_equal(close(ends[1]), 0);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		assert_int_equal(await_ready(ends[0], POLLIN, times[i]), 1); /* its end */
	assert_int_equal(close(ends[0]), 0);
}

static void ignore(int signo)
{
	(void)signo;
}

/* A child sends signals until the byte has arrived, so that some of them interrupt
 * the wait. */
static void test_a_signal_is_no_reason_to_stop_waiting(void **state)
{
	const struct sigaction interrupts = { .sa_handler = ignore };
	int ends[2];

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &interrupts, NULL), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			(void)kill(getppid(), SIGUSR1);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	assert_int_equal(await_ready(ends[0], POLLIN, FUTURE), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	own_close(&ends[0]);
	own_close(&ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_that_is_there_is_found_at_any_deadline),
		cmocka_unit_test(test_a_signal_is_no_reason_to_stop_waiting),
	};

	return cmocka_run_group_tests_name("await", tests, NULL, NULL);
}
