#include "base/fd_pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/scene.h"

struct pair {
	int ends[2];
	int fds[FD_PASS_MAX + 1];
};

static void open_pair(struct pair *p)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends), 0);
	for (int i = 0; i <= FD_PASS_MAX; i++)
		assert_true((p->fds[i] = open("/dev/zero", O_RDONLY | O_CLOEXEC)) >= 0);
}

static void close_pair(const struct pair *p)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(p->ends[i]), 0);
	for (int i = 0; i <= FD_PASS_MAX; i++)
		assert_int_equal(close(p->fds[i]), 0);
}

static void test_one_comes_with_its_bytes_and_the_rest_without(void **state)
{
	struct stat is, was;
	struct pair p;
	char text[8];
	int fd;

	(void)state;
	open_pair(&p);
	assert_int_equal(fd_pass_receive(p.ends[1], text, sizeof(text), &fd), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fd_pass_send(p.ends[0], "abc", 3, p.fds, 1), 3);
	assert_int_equal(fd_pass_receive(p.ends[1], text, 2, &fd), 2);
	assert_int_equal(fstat(fd, &is) | fstat(p.fds[0], &was), 0);
	assert_true(is.st_dev == was.st_dev && is.st_ino == was.st_ino);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(close(fd), 0);
	assert_int_equal(fd_pass_receive(p.ends[1], text, sizeof(text), &fd), 1);
	assert_int_equal(fd, -1);
	assert_int_equal(fd_pass_send(p.ends[0], "d", 1, NULL, 0), 1);
	assert_int_equal(fd_pass_receive(p.ends[1], text, sizeof(text), &fd), 1);
	assert_int_equal(fd, -1);
	close_pair(&p);
}

static void test_the_first_of_several_is_kept_and_no_other_stays_open(void **state)
{
	unsigned before = scene_open_fds();
	struct pair p;
	char text[8];
	int fd;

	(void)state;
	open_pair(&p);
	assert_int_equal(fd_pass_send(p.ends[0], "a", 1, p.fds, FD_PASS_MAX), 1);
	assert_int_equal(fd_pass_receive(p.ends[1], text, sizeof(text), &fd), 1);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(fd_pass_send(p.ends[0], "a", 1, p.fds, FD_PASS_MAX + 1), -1);
	assert_int_equal(errno, EINVAL);
	close_pair(&p);
	assert_int_equal(scene_open_fds(), before);
}

static void test_one_that_there_is_no_number_for_is_lost_and_that_is_told(void **state)
{
	struct rlimit old, few;
	struct pair p;
	char text[8];
	int fd;

	(void)state;
	open_pair(&p);
	assert_int_equal(fd_pass_send(p.ends[0], "a", 1, p.fds, 1), 1);
	const int next = dup(p.ends[0]);
	assert_int_equal(close(next) | getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ (rlim_t)next, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	const ssize_t n = fd_pass_receive(p.ends[1], text, sizeof(text), &fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(n, 1);
	assert_int_equal(fd, FD_PASS_LOST);
	close_pair(&p);
}

/* The user's descriptors in flight, including those of tests that run beside
 * this, exceed the soft limit. */
static void send_beyond_soft(void *arg)
{
	struct rlimit low, now;
	struct pair p, other;

	(void)arg;
	CHECK(getrlimit(RLIMIT_NOFILE, &low) == 0);
	low.rlim_cur = 5;
	open_pair(&p);
	open_pair(&other);
	for (int i = 0; i < 4; i++)
		CHECK(fd_pass_send(other.ends[0], "a", 1, other.fds, FD_PASS_MAX) == 1);
	CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
	CHECK(fd_pass_send(p.ends[0], "a", 1, p.fds, 1) == 1);
	CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0);
	CHECK(now.rlim_cur == low.rlim_cur && now.rlim_max == low.rlim_max);
}

static void test_many_under_way_count_against_the_hard_limit_alone(void **state)
{
	(void)state;
	scene_child(send_beyond_soft, NULL);
}

static void test_a_peer_that_has_gone_is_an_error_and_no_signal(void **state)
{
	struct pair p;
	char text[8];
	int fd;

	(void)state;
	open_pair(&p);
	assert_int_equal(shutdown(p.ends[1], SHUT_RDWR), 0);
	assert_int_equal(fd_pass_send(p.ends[0], "a", 1, p.fds, 1), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(fd_pass_receive(p.ends[1], text, sizeof(text), &fd), 0);
	assert_int_equal(fd, -1);
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_comes_with_its_bytes_and_the_rest_without),
		cmocka_unit_test(
			test_the_first_of_several_is_kept_and_no_other_stays_open),
		cmocka_unit_test(
			test_one_that_there_is_no_number_for_is_lost_and_that_is_told),
		cmocka_unit_test(test_many_under_way_count_against_the_hard_limit_alone),
		cmocka_unit_test(test_a_peer_that_has_gone_is_an_error_and_no_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
