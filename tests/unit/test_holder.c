/* holder: a client finds the supervisor of a sandbox that has no socket yet, its janitor, and no
 * process in their place. */
#include "base/kernel.h"
#include "sandbox/state/holder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "tests/unit/register.h"

/* Plays a supervisor in a child, which makes the sandbox "one" and stops itself.  Returns the
 * pid when it has stopped. */
static pid_t play_supervisor(void)
{
	struct registry_entry r;
	int status;

	const pid_t pid = fork();
	if (pid == 0) {
		CHECK(registry_create("one", &r, NULL) == 0);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void test_a_stopped_supervisor_is_found_and_killed(void **state)
{
	struct registry_item item;
	struct err e;
	int status;

	(void)state;
	const pid_t pid = play_supervisor();
	assert_int_equal(registry_look("one", &item, NULL), 0);
	assert_int_equal(registry_supervisor("one", "0123456789abcdef", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND); /* the name is that of another sandbox */
	AUTO_CLOSE int pidfd = registry_supervisor("one", item.id, &e);
	if (pidfd < 0)
		fail_msg("%s", e.text);
	assert_int_equal(sys_pidfd_send_signal(pidfd, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(registry_supervisor("one", item.id, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	registry_item_done(&item);
}

static void test_without_a_holder_there_is_no_pidfd(void **state)
{
	AUTO_FREE char *path = scene_path(state, "lock");
	AUTO_CLOSE int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct err e;

	assert_int_equal(holder_open(lock, HOLDER_SUPERVISOR, &e), -1);
	assert_int_equal(e.kind, ERR_GONE);
	/* This process is no other holder for itself. */
	holder_become(lock, HOLDER_SUPERVISOR);
	assert_int_equal(holder_open(lock, HOLDER_SUPERVISOR, &e), -1);
	assert_int_equal(e.kind, ERR_GONE);
}

/* A child takes the janitor's lock of the same open file, tells so, and stops. */
static pid_t play_janitor(int lock)
{
	int status;

	const pid_t pid = fork();
	if (pid == 0) {
		holder_become(lock, HOLDER_JANITOR);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void test_each_holder_is_found_as_what_it_is(void **state)
{
	AUTO_FREE char *path = scene_path(state, "lock");
	AUTO_CLOSE int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct err e;
	int status;

	const pid_t pid = play_janitor(lock);
	assert_int_equal(holder_open(lock, HOLDER_SUPERVISOR, &e), -1);
	AUTO_CLOSE int janitor = holder_open(lock, HOLDER_JANITOR, &e);
	if (janitor < 0)
		fail_msg("%s", e.text);
	assert_int_equal(sys_pidfd_send_signal(janitor, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(holder_open(lock, HOLDER_JANITOR, &e), -1);
	assert_int_equal(e.kind, ERR_GONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_stopped_supervisor_is_found_and_killed),
		TEST(test_without_a_holder_there_is_no_pidfd),
		TEST(test_each_holder_is_found_as_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
