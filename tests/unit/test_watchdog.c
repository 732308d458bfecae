/* watchdog: a child of the test, which has a child of its own, plays the sandbox.
 * It reports when its memory is in use, and lives until it is killed. */
#include "sandbox/cgroup/watchdog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "tests/patience.h"

#define MIB 1048576u

/* Uses `own` MiB, and makes a grandchild that uses `childs` MiB more.  With
 * `is_shared` both have the first ones mapped. */
static void play(int ready, size_t own, size_t childs, int is_shared, int is_hidden)
{
	int flags = MAP_ANONYMOUS | (is_shared ? MAP_SHARED : MAP_PRIVATE);
	char *mine = mmap(NULL, own * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);

	memset(mine, 1, own * MIB);
	/* If a process is undumpable, /proc hides its mappings, but not the number of
	 * its resident pages. */
	if (is_hidden)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* The child in between has almost no memory, but it has to be passed to find
	 * the grandchild. */
	if (fork() == 0 && fork() == 0) {
		char *more = mmap(NULL, childs * MIB + 1, PROT_READ | PROT_WRITE,
				  MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
		memset(more, 1, childs * MIB + 1);
		for (size_t i = 0; i < own * MIB; i += 4096)
			((volatile char *)mine)[i];
		if (write(ready, "", 1) != 1)
			_exit(1);
	}
	for (;;)
		(void)pause();
}

static uint64_t measure_one(size_t own, size_t childs, int is_shared, int is_hidden,
			    uint64_t limit)
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)setpgid(0, 0);
		play(ends[1], own, childs, is_shared, is_hidden);
	}
	(void)setpgid(pid, pid);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	uint64_t used = watchdog_measure(pid, limit);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	own_close(&ends[0]);
	own_close(&ends[1]);
	return used / MIB;
}

static uint64_t measure(size_t own, size_t childs, int is_shared, uint64_t limit)
{
	return measure_one(own, childs, is_shared, 0, limit);
}

static void test_a_process_that_hides_counts(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip(); /* a process cannot hide from root */
	if (access("/proc/1", F_OK) < 0)
		skip(); /* /proc has hidepid, so an undumpable process is invisible */
	uint64_t used = measure_one(40, 1, 1, 1, 1);
	assert_true(used >= 78);
}

static void test_children_count(void **state)
{
	(void)state;
	uint64_t used = measure(10, 20, 0, 0);
	assert_true(used >= 28 && used < 45);
}

static void test_shared_memory_counts_once(void **state)
{
	(void)state;
	uint64_t used = measure(40, 1, 1, 1);
	assert_true(used >= 38 && used < 55);
}

/* Far below the limit the watchdog measures roughly, which counts shared pages
 * twice. */
static void test_a_rough_look_is_no_less(void **state)
{
	(void)state;
	uint64_t used = measure(40, 1, 1, UINT64_MAX);
	assert_true(used >= 78);
}

static void test_one_that_has_gone_uses_nothing(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(watchdog_measure(pid, 0), 0);
}

/* --- seen by another process than the supervisor ------------------------------------- */

static void *fork_and_wait(void *arg)
{
	if (fork() != 0 && write(*(int *)arg, "", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
	return NULL;
}

/* Starts a process of that name, whose only child is of a second thread, and returns its
 * pid.  It leads a process group of its own. */
static pid_t start(const char *name)
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_NAME, name);
		if (pthread_create(&thread, NULL, fork_and_wait, &ends[1]) == 0)
			(void)pthread_join(thread, NULL);
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	own_close(&ends[0]);
	own_close(&ends[1]);
	return pid;
}

static void stop(pid_t pid)
{
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_look_counts_children_of_each_thread(void **state)
{
	struct consumption used = { 0 };
	pid_t pid = start("hutch-executor");

	(void)state;
	bool is_seen = watchdog_look(pid, &used);
	stop(pid);
	assert_true(is_seen);
	assert_int_equal(used.pids, 1);
	assert_true(used.memory > 0);
}

static void test_a_look_takes_no_other_program(void **state)
{
	struct consumption used = { .pids = 7 };
	pid_t pid = start("hutch-executo");

	(void)state;
	bool is_seen = watchdog_look(pid, &used);
	stop(pid);
	assert_false(is_seen);
	assert_false(watchdog_look(pid, &used));
	assert_int_equal(used.pids, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_count),
		cmocka_unit_test(test_a_process_that_hides_counts),
		cmocka_unit_test(test_shared_memory_counts_once),
		cmocka_unit_test(test_a_rough_look_is_no_less),
		cmocka_unit_test(test_one_that_has_gone_uses_nothing),
		cmocka_unit_test(test_a_look_counts_children_of_each_thread),
		cmocka_unit_test(test_a_look_takes_no_other_program),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
