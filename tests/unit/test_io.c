/* io: reads and writes that are repeated until all bytes are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

#define MUCH (1u << 20)

static char *pattern(size_t len)
{
	char *data = malloc(len);

	assert_non_null(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 7 + i / 251);
	return data;
}

static pid_t write_in_child(const int ends[2], const char *data, size_t len)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)close(ends[0]);
	_exit(io_write_all(ends[1], data, len) < 0);
}

static void test_much_goes_through_a_pipe_whole(void **state)
{
	AUTO_FREE char *data = pattern(MUCH);
	AUTO_FREE char *got = malloc(MUCH + 1);
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = write_in_child(ends, data, MUCH);
	(void)close(ends[1]);
	assert_int_equal(io_read_full(ends[0], got, MUCH), MUCH);
	assert_memory_equal(got, data, MUCH);
	assert_int_equal(io_read_full(ends[0], got, 1), 0);
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
	(void)close(ends[0]);
}

static void ignore_alarm(int signo)
{
	(void)signo;
}

/* A signal handler without SA_RESTART makes both calls return early. */
static void test_interruptions_do_not_show(void **state)
{
	struct sigaction act = { .sa_handler = ignore_alarm }, old;
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 20; i++)
		test_much_goes_through_a_pipe_whole(state);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}

static void test_an_early_end_is_a_short_count(void **state)
{
	char got[10];
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(io_write_all(ends[1], "abc", 3), 0);
	(void)close(ends[1]);
	assert_int_equal(io_read_full(ends[0], got, sizeof(got)), 3);
	(void)close(ends[0]);
}

static void test_a_file_of_the_expected_size_is_told_from_others(void **state)
{
	AUTO_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
	char got[6];

	(void)state;
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_sized(fd, got, 5), 5);
	assert_memory_equal(got, "12345", 5);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_sized(fd, got, 4), 5);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	assert_int_equal(io_read_sized(fd, got, 5), 3);
	assert_memory_equal(got, "345", 3);
	assert_int_equal(io_read_sized(-1, got, 5), -1);
	assert_int_equal(errno, EBADF);
}

static void test_failures_are_minus_one_with_errno(void **state)
{
	char byte = 0;

	(void)state;
	assert_int_equal(io_write_all(-1, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(io_read_full(-1, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(io_write_all(-1, &byte, 0), 0);
}

static int file_of(const char *data, size_t len)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	int fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
	(void)fclose(f);
	assert_int_equal(io_write_all(fd, data, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Sizes around each size at which the buffer grows, and around the bound. */
static void test_a_file_is_read_whole_or_refused_at_the_bound(void **state)
{
	static const size_t sizes[] = { 0,    1,    2,	  4094, 4095,  4096,  4097,
					8191, 8192, 8193, 9000, 16384, 16385, 40000 };
	static const size_t bounds[] = { 0,    1,    4095,  4096,  4097,
					 8192, 9000, 40000, 100000 };
	AUTO_FREE char *data = pattern(40000);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t k = 0; k < ARRAY_LEN(bounds); k++) {
			AUTO_CLOSE int fd = file_of(data, sizes[i]);
			AUTO_FREE char *got = NULL;
			size_t len = 99;
			struct err e;
			int done = io_read_file(fd, "it", bounds[k], &got, &len, &e);
			assert_int_equal(done, sizes[i] <= bounds[k] ? 0 : -1);
			if (done < 0) {
				assert_int_equal(e.kind, ERR_LIMIT);
				assert_null(got);
				assert_int_equal(len, 99);
				continue;
			}
			assert_int_equal(len, sizes[i]);
			assert_memory_equal(got, data, len);
			assert_int_equal(got[len], '\0');
		}
}

static void test_an_endless_file_is_refused(void **state)
{
	AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *got = NULL;
	size_t len;
	struct err e;

	(void)state;
	assert_int_equal(io_read_file(fd, "/dev/zero", 1u << 20, &got, &len, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, "/dev/zero"));
}

static void test_a_directory_is_no_file(void **state)
{
	AUTO_CLOSE int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *got = NULL;
	size_t len;
	struct err e;

	(void)state;
	assert_int_equal(io_read_file(fd, "the root", 100, &got, &len, &e), -1);
	assert_int_equal(e.sys, EISDIR);
	assert_null(got);
}

static void test_a_proc_file_is_written_at_once(void **state)
{
	char dir[] = "/tmp/test_io.XXXXXX", path[64];
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	AUTO_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(io_write_proc(at, "file", "0 1 2\n", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	AUTO_CLOSE int fd = openat(at, "file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(io_write_proc(at, "file", "0 1 2\n", &e), 0);
	char got[7] = "";
	assert_int_equal(read(fd, got, sizeof(got)), 6);
	assert_string_equal(got, "0 1 2\n");
	(void)snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(unlink(path) | rmdir(dir), 0);
	/* An error of the write itself: /dev/full accepts no byte. */
	AUTO_CLOSE int dev = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(io_write_proc(dev, "full", "value\n", &e), -1);
	assert_int_equal(e.sys, ENOSPC);
	assert_non_null(strstr(e.text, "full"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much_goes_through_a_pipe_whole),
		cmocka_unit_test(test_interruptions_do_not_show),
		cmocka_unit_test(test_an_early_end_is_a_short_count),
		cmocka_unit_test(test_a_file_of_the_expected_size_is_told_from_others),
		cmocka_unit_test(test_failures_are_minus_one_with_errno),
		cmocka_unit_test(test_a_file_is_read_whole_or_refused_at_the_bound),
		cmocka_unit_test(test_an_endless_file_is_refused),
		cmocka_unit_test(test_a_directory_is_no_file),
		cmocka_unit_test(test_a_proc_file_is_written_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
