/* at_home -- makes and checks files in the session's home folder, for tests of file
 * requests.  A test includes it once, like in_session.h. */
#pragma once
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/own.h"
#include "tests/unit/in_session.h"

static void put(const char *path, const void *data, size_t len)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, data, len), 0);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static void check_file(const char *path, const char *expected)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *got = NULL;

	assert_true(fd >= 0);
	got = read_all(fd);
	assert_string_equal(got, expected);
}
