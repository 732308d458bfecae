/* serve_confine: each case runs in a child, since privileges are given up for ever.  The
 * same attempts are made before and after: all of them work before. */
#include "gateway/serve_confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "sandbox/kernel/landlock.h"

#define LAYERS_MAX \
	16 /* of Landlock in one process, LANDLOCK_MAX_NUM_LAYERS of the kernel */

static int try_open(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : 0;
}

static int try_socket(void)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : 0;
}

static int try_pair(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	own_close(&fds[0]);
	own_close(&fds[1]);
	return 0;
}

static int try_fork(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 || wait4(pid, NULL, 0, NULL) < 0 ? -1 : 0;
}

static int try_signal(void)
{
	return kill(getppid(), 0);
}

static int try_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? -1 : munmap(page, 4096);
}

static int try_stat(void)
{
	struct stat st;

	return lstat("/", &st);
}

static int try_memory(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	return page == MAP_FAILED ? -1 : munmap(page, 4096);
}

/* The front can no longer do the first ones, and still needs the others. */
static const struct attempt {
	const char *name;
	int (*try)(void);
	bool is_kept;
} attempts[] = {
	{ "open", try_open, false },	   { "socket", try_socket, false },
	{ "socketpair", try_pair, false }, { "fork", try_fork, false },
	{ "kill", try_signal, false },	   { "code", try_code, false },
	{ "memory", try_memory, true },	   { "lstat", try_stat, true },
};

/* Runs `body` in a child; returns what it returned. */
static int in_child(int (*body)(void))
{
	int status;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int attempt_all(void)
{
	const int keep[] = { -1 };
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(attempts); i++)
		if (attempts[i].try() < 0)
			return 1;
	if (serve_confine(keep, ARRAY_LEN(keep), &e) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
		const int rc = attempts[i].try();

		if (attempts[i].is_kept ? rc < 0 : rc == 0 || errno != ENOSYS)
			return 10 + (int)i;
	}
	return 0;
}

static void test_it_can_do_no_more_than_it_needs(void **state)
{
	(void)state;
	assert_int_equal(in_child(attempt_all), 0);
}

static int look_at_descriptors(void)
{
	const int kept = dup(2), lost = dup(2), also = dup(2);
	const int keep[] = { also, -1, kept };
	struct err e;

	if (serve_confine(keep, ARRAY_LEN(keep), &e) < 0)
		return 1;
	if (fcntl(kept, F_GETFD) < 0 || fcntl(also, F_GETFD) < 0)
		return 2;
	return fcntl(lost, F_GETFD) < 0 && errno == EBADF ? 0 : 3;
}

static void test_it_keeps_the_descriptors_that_are_named(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_at_descriptors), 0);
}

/* No file can be opened afterwards, so this one is open before. */
static int look_at_status(void)
{
	const int keep[] = { open("/proc/self/status", O_RDONLY | O_CLOEXEC) };
	char text[8192];
	struct err e;

	if (serve_confine(keep, ARRAY_LEN(keep), &e) < 0)
		return 1;
	const ssize_t len = read(keep[0], text, sizeof(text) - 1);
	if (len <= 0)
		return 2;
	text[len] = '\0';
	return strstr(text, "CapEff:\t0000000000000000\n") &&
			       strstr(text, "CapPrm:\t0000000000000000\n") &&
			       strstr(text, "NoNewPrivs:\t1\n") &&
			       strstr(text, "Seccomp:\t2\n")
		       ? 0
		       : 3;
}

static void test_it_has_no_capability_and_gains_none(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_at_status), 0);
}

/* Each call of landlock_restrict_self(2) adds a layer, and the kernel takes 16, those of a
 * sandbox around this test among them: a process with 16 can have no further one. */
static int confine_on_top_of_all_layers(void)
{
	const int keep[] = { -1 };
	struct err e = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 3;
	int layers = 0;
	while (layers <= LAYERS_MAX && landlock_confine(NULL, 0, 0, &e) == 0)
		layers++;
	if (layers > LAYERS_MAX)
		return 1;
	return serve_confine(keep, ARRAY_LEN(keep), &e) < 0 ? 0 : 2;
}

static void test_it_adds_a_domain_of_landlock_or_fails(void **state)
{
	(void)state;
	if (landlock_abi() <= 0)
		skip();
	assert_int_equal(in_child(confine_on_top_of_all_layers), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_can_do_no_more_than_it_needs),
		cmocka_unit_test(test_it_keeps_the_descriptors_that_are_named),
		cmocka_unit_test(test_it_has_no_capability_and_gains_none),
		cmocka_unit_test(test_it_adds_a_domain_of_landlock_or_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
