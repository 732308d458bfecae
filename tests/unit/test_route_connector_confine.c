/* connector_confine: each attempt runs in a child, since privileges are given up for ever. */
#include "gateway/route/connector_confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

/* --- attempts that the connector needs -------------------------------------------- */

static int try_lookup(void)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;

	if (getaddrinfo("localhost", "80", &hints, &list) != 0)
		return -1;
	freeaddrinfo(list);
	return 0;
}

/* Connects to a listener of its own.  listen(2) is not the connector's. */
static int try_connect(int listener)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || getsockname(listener, (struct sockaddr *)&a, &len) < 0)
		return -1;
	return connect(fd, (const struct sockaddr *)&a, len);
}

static int try_fork(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 || waitpid(pid, NULL, 0) < 0 ? -1 : 0;
}

/* --- attempts that it does not need ------------------------------------------------ */

static int try_unix(void)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : 0;
}

static int try_packets(void)
{
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : 0;
}

static int try_write(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : 0;
}

static int try_execute(void)
{
	char name[] = "true", *const argv[] = { name, NULL };
	const pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		(void)execv("/bin/true", argv);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
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

/* Returns whether the attempt succeeds in a child, confined or not. */
static bool succeeds(int (*attempt)(void), bool is_confined)
{
	const pid_t pid = fork();
	struct err e;
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (is_confined && connector_confine(&e) < 0)
			_exit(2);
		_exit(attempt() < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return status == 0;
}

static void test_the_connector_keeps_its_work_and_loses_the_rest(void **state)
{
	static const struct {
		int (*attempt)(void);
		bool is_kept;
	} rows[] = {
		{ try_lookup, true },	{ try_fork, true },   { try_unix, false },
		{ try_packets, false }, { try_write, false }, { try_execute, false },
		{ try_signal, false },	{ try_code, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(succeeds(rows[i].attempt, false));
		assert_int_equal(succeeds(rows[i].attempt, true), rows[i].is_kept);
	}
}

static void test_the_connector_connects(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err e;
	int status = -1;

	(void)state;
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 1), 0);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(connector_confine(&e) < 0 || try_connect(fd) < 0 ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_connector_keeps_its_work_and_loses_the_rest),
		cmocka_unit_test(test_the_connector_connects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
