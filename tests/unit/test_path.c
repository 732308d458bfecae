#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static void test_the_rest_of_a_path_follows_its_folder(void **state)
{
	static const struct {
		/* NULL: the path is not below the folder. */
		const char *path, *folder, *wanted;
	} rows[] = {
		{ "/a", "/a", "" },	  { "/a/b", "/a", "/b" }, { "/ab", "/a", NULL },
		{ "/", "/", "" },	  { "/a", "/", "/a" },	  { "/", "/a", NULL },
		{ "/a", "/a/b", NULL },	  { "a/b", "a", "/b" },	  { "ab", "a", NULL },
		{ "/a/b/c", "/a/b", "/c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = path_below(rows[i].path, rows[i].folder);
		if (rows[i].wanted)
			assert_string_equal(got, rows[i].wanted);
		else
			assert_null(got);
	}
}

static void test_a_plain_path_is_told(void **state)
{
	static const char *const plain[] = { "/a", "/a/b", "/a/..b", "/a/b...", "/.a" };
	static const char *const others[] = { "",    "a",      "a/b",	  "/",
					      "/a/", "//a",    "/a//b",	  "/.",
					      "/..", "/a/./b", "/a/../b", "/a/.." };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		assert_true(path_is_plain(plain[i]));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(path_is_plain(others[i]));
}

static void test_a_path_that_a_shell_would_read_otherwise_needs_quotes(void **state)
{
	static const char *const plain[] = { "", "/", "/a/B-9_.+@:", "a" };
	const char others[] = " \t\n'\"\\$`;&|<>()*?[]{}~#!=%^,";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		assert_true(path_is_unquoted(plain[i]));
	for (const char *at = others; *at; at++) {
		const char path[] = { '/', 'a', *at, 'b', '\0' };
		assert_false(path_is_unquoted(path));
	}
	assert_false(path_is_unquoted("/\xc3\xa4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_rest_of_a_path_follows_its_folder),
		cmocka_unit_test(test_a_plain_path_is_told),
		cmocka_unit_test(
			test_a_path_that_a_shell_would_read_otherwise_needs_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
