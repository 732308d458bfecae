/* netns: opens a network namespace by its path, and enters it. */
#include "sandbox/kernel/netns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/scene.h"

static void test_other_files_are_refused(void **state)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ "/dev/null", "/dev/null is no network namespace" },
		{ "/proc/self/ns", "/proc/self/ns is no network namespace" },
		{ "/proc/self/ns/uts", "/proc/self/ns/uts is no network namespace" },
		{ "/proc/self/ns/net",
		  "is the network namespace that hutch itself is in" },
		{ "/absent", "No such file" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct netns n;
		struct err e;
		netns_init(&n);
		assert_int_equal(netns_open(rows[i].path, true, &n, &e), -1);
		assert_non_null(strstr(e.text, rows[i].text));
		assert_int_equal(n.space, -1);
		netns_done(&n);
	}
}

/* Returns the inode of a network namespace. */
static ino_t number_of(const char *path)
{
	struct stat st;

	CHECK(stat(path, &st) == 0);
	return st.st_ino;
}

/* Starts a process in a network namespace of its own, which ends with `*ret_end`. */
static pid_t hold(int *ret_end)
{
	int ready[2], end[2];
	char byte;

	CHECK(pipe2(ready, O_CLOEXEC) == 0 && pipe2(end, O_CLOEXEC) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(end[1]);
		if (unshare(CLONE_NEWNET) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(ready[1]);
	close(end[0]);
	CHECK(pid > 0 && read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	*ret_end = end[1];
	return pid;
}

/* Runs as root of a user namespace that owns the network namespace. */
static void play_enter(void *arg)
{
	char path[64];
	struct netns n;
	struct err e;
	int end;

	(void)arg;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)hold(&end));
	const ino_t other = number_of(path);
	CHECK(number_of("/proc/self/ns/net") != other);
	/* without root, the owner would have to be another user namespace */
	CHECK(netns_open(path, false, &n, &e) < 0 && e.kind == ERR_REFUSED);
	CHECK(strstr(e.text, "belongs to root") &&
	      strstr(e.remedy, "start hutch as root"));
	CHECK(netns_open(path, true, &n, &e) == 0);
	CHECK(netns_enter(&n, &e) == 0);
	netns_done(&n);
	CHECK(n.space == -1 && n.owner == -1);
	CHECK(number_of("/proc/self/ns/net") == other);
	close(end);
	CHECK(wait(NULL) > 0);
}

static void test_root_of_the_owner_enters(void **state)
{
	(void)state;
	scene_inside(0, 1000, play_enter, NULL);
}

/* Becomes another user, who makes a network namespace of a user namespace below this one. */
static void play_other(const int ready[2])
{
	if (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write(ready[1], "", 1) == 1)
		(void)pause();
	_exit(1);
}

static void test_another_user_owns_it(void **state)
{
	char path[64], byte;
	struct netns n;
	struct err e;
	int ready[2];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		play_other(ready);
	close(ready[1]);
	const bool is_made = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	netns_init(&n);
	const int opened = netns_open(path, false, &n, &e);
	netns_done(&n);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (!is_made) /* root of a user namespace, with no other id */
		skip();
	assert_int_equal(opened, -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, "belongs to another user"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_files_are_refused),
		cmocka_unit_test(test_root_of_the_owner_enters),
		cmocka_unit_test(test_another_user_owns_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
