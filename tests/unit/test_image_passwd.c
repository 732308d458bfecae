/* image_passwd: reads valid and malformed lines of an image's passwd and group. */
#include "sandbox/plan/image_passwd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

#define LONG "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONGER LONG LONG LONG LONG

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("accounts", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static const struct {
	const char *text, *name;
	uint32_t asked;
	int found;
	uint32_t id, group;
	const char *home;
} cases[] = {
	{ "root:x:0:0:root:/root:/bin/sh\n", "root", 0, 1, 0, 0, "/root" },
	{ "a:x:1:2:g:/a:/s\nb:x:3:4::/b:\n", "b", 0, 1, 3, 4, "/b" },
	{ "a:x:1:2:g:/a:/s\nb:x:3:4::/b:\n", NULL, 3, 1, 3, 4, "/b" },
	{ "a:x:1:2:g:/a:/s", "a", 0, 1, 1, 2, "/a" }, /* the last line has no newline */
	{ "wheel:x:10:a,b\n", "wheel", 0, 1, 10, 0, "" },
	{ "wheel:x:10\n", "wheel", 0, 1, 10, 0, "" },
	{ "", "a", 0, 0, 0, 0, "" },
	{ "\n\n:::\n:\n", "a", 0, 0, 0, 0, "" },
	{ "ab:x:1:2:::\n", "a", 0, 0, 0, 0, "" },
	{ "a:x\na\na:x:\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:-1:2:g:/a:/s\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:1 :2:g:/a:/s\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:0x1:2:g:/a:/s\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:4294967295:2:g:/a:/s\n", "a", 0, 0, 0, 0, "" }, /* (uid_t)-1 is no id */
	{ "a:x:4294967294:2:g:/a:/s\n", "a", 0, 1, 4294967294u, 2, "/a" },
	{ "a:x:99999999999999999999:2:g:/a:/s\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:1:4294967296:g:/a:/s\n", "a", 0, 0, 0, 0, "" },
	{ "a:x:1:2:g:relative:/s\n", "a", 0, 1, 1, 2, "" },
	{ "a:x:1:2:g:/" LONGER ":/s\n", "a", 0, 1, 1, 2, "" },
	{ "a:x:1:2:g:/a:/s:more:fields\n", "a", 0, 1, 1, 2, "/a" },
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct account a = { 0 };
		struct err e = { 0 };
		AUTO_CLOSE int fd = file_of(cases[i].text, strlen(cases[i].text));
		int found = image_passwd_find(fd, cases[i].name, cases[i].asked, &a, &e);
		if (found != cases[i].found)
			fail_msg("case %zu: %d: %s", i, found, e.text);
		if (found != 1)
			continue;
		assert_int_equal(a.id, cases[i].id);
		assert_int_equal(a.group, cases[i].group);
		assert_string_equal(a.home, cases[i].home);
	}
}

static void test_a_file_that_is_no_text_is_refused(void **state)
{
	static const char escape[] = "a:x:1:2:g:/a\033[2J:/s\n";
	struct account a;
	struct err e;

	(void)state;
	AUTO_CLOSE int fd = file_of(escape, strlen(escape));
	assert_int_equal(image_passwd_find(fd, "a", 0, &a, &e), -1);
}

/* A line that is too long defines no account; nor does its tail, even if that
 * looks like a line. */
static void test_a_long_line_is_passed_over(void **state)
{
	static char text[20000];
	struct account a;
	struct err e;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + 4096, "a:x:1:1::/:\n", 12);
	memcpy(text + 4108, "b:x:5:6::/b:\n", 13);
	AUTO_CLOSE int fd = file_of(text, sizeof(text));
	assert_int_equal(image_passwd_find(fd, "a", 0, &a, &e), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(image_passwd_find(fd, "b", 0, &a, &e), 1);
	assert_int_equal(a.id, 5);
}

static void test_no_more_than_a_mebibyte_is_read(void **state)
{
	const size_t len = (1u << 20) + 4096;
	AUTO_FREE char *text = malloc(len);
	struct account a;
	struct err e;

	(void)state;
	memset(text, '\n', len);
	memcpy(text + (1u << 20) + 10, "a:x:1:1::/:\n", 12);
	AUTO_CLOSE int fd = file_of(text, len);
	assert_int_equal(image_passwd_find(fd, "a", 0, &a, &e), 0);
}

static void test_the_reader_can_do_nothing_but_read(void **state)
{
	struct account a;
	struct err e;

	(void)state;
	/* A descriptor that cannot be read, here a folder, is an error; no other
	 * source is tried. */
	AUTO_CLOSE int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(image_passwd_find(fd, "a", 0, &a, &e), 0);
	assert_int_equal(image_passwd_find(-1, "a", 0, &a, &e), -1);
	assert_non_null(strstr(e.text, "ended"));
}

/* A group has a user only if one of its members has exactly that name (group(5)). */
static void test_groups_that_have_a_user(void **state)
{
	static const char text[] = "root:x:0:\nfirst:x:44:b,a\nown:x:1:a\nnot:x:2:ab,a \n"
				   "short:x:3\nbad:x:-4:a\nlast:x:65536:a,a";
	uint32_t ids[2] = { 0 };

	(void)state;
	AUTO_CLOSE int fd = file_of(text, strlen(text));
	assert_int_equal(account_groups(fd, "a", ids, 2), 3);
	assert_int_equal(ids[0], 44);
	assert_int_equal(ids[1], 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(account_groups(fd, "nobody", ids, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_a_file_that_is_no_text_is_refused),
		cmocka_unit_test(test_a_long_line_is_passed_over),
		cmocka_unit_test(test_groups_that_have_a_user),
		cmocka_unit_test(test_no_more_than_a_mebibyte_is_read),
		cmocka_unit_test(test_the_reader_can_do_nothing_but_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
