/* regular: a file that is none does not make the caller wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/regular.h"

static const struct {
	const char *path;
	int flags;
	int kind;	  /* ERR_NONE: it is opened */
	int sys;	  /* of the error */
	const char *text; /* of the error */
} rows[] = {
	{ "file", 0, ERR_NONE, 0, NULL },
	{ "file", O_NOFOLLOW, ERR_NONE, 0, NULL },
	{ "link", 0, ERR_NONE, 0, NULL },
	{ "link", O_NOFOLLOW, ERR_SYSTEM, ELOOP,
	  "open it: Too many levels of symbolic links" },
	{ "absent", 0, ERR_NOT_FOUND, ENOENT, "open it: No such file or directory" },
	{ "fifo", 0, ERR_USAGE, 0, "open it: it is not a regular file" },
	{ "fifo", O_NOFOLLOW, ERR_USAGE, 0, "open it: it is not a regular file" },
	{ "to_fifo", 0, ERR_USAGE, 0, "open it: it is not a regular file" },
	{ ".", 0, ERR_USAGE, 0, "open it: it is not a regular file" },
	{ "/dev/null", 0, ERR_USAGE, 0, "open it: it is not a regular file" },
};

static void check_row(int dir, size_t i)
{
	struct err e = { 0 };
	AUTO_CLOSE int fd = regular_open(dir, rows[i].path, rows[i].flags, "it", &e);

	assert_int_equal(fd < 0, rows[i].kind != ERR_NONE);
	if (fd >= 0) {
		char text[8];
		assert_int_equal(io_read_full(fd, text, sizeof(text)), 4);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		return;
	}
	assert_int_equal(e.kind, rows[i].kind);
	assert_int_equal(e.sys, rows[i].sys);
	assert_string_equal(e.text, rows[i].text);
}

static void test_only_a_regular_file_is_opened(void **state)
{
	static const char *const names[] = { "file", "link", "fifo", "to_fifo" };
	char folder[] = "/tmp/regular.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int file = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(io_write_all(file, "text", 4), 0);
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_int_equal(symlinkat("fifo", dir, "to_fifo"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(dir, i);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(unlinkat(dir, names[i], 0), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_regular_file_is_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
