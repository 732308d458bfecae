/* ignore: .dockerignore leaves out the same files as docker does. */
#include "rootfs-tools/build/ignore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/cost.h"

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} samples[] = {
		{ "a", "a", true },
		{ "a", "b", false },
		{ "a", "a/b", false },
		{ "*", "a", true },
		{ "*", "a/b", false },
		{ "*/b", "a/b", true },
		{ "a*c", "abc", true },
		{ "a*c", "ac", true },
		{ "a*c", "a/c", false },
		{ "*.go", "x.go", true },
		{ "*.go", "x.goo", false },
		{ "?", "a", true },
		{ "?", "/", false },
		{ "a?c", "abc", true },
		{ "[abc]", "b", true },
		{ "[a-c]x", "bx", true },
		{ "[^a-c]x", "bx", false },
		{ "[^a-c]x", "dx", true },
		{ "[]a]", "]", true },
		{ "[\\]a]", "]", true },
		{ "[a", "a", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "**", "a/b/c", true },
		{ "**/c", "c", true },
		{ "**/c", "a/b/c", true },
		{ "**/c", "a/b/xc", false },
		{ "a/**", "a/b/c", true },
		{ "a/**", "a", false },
		{ "a/**/c", "a/c", true },
		{ "a/**/c", "a/b/d/c", true },
		{ "a/**/c", "a/b/xc", false },
		{ "**/*.txt", "a/b.txt", true },
		{ "**/*.txt", "a/b.txt/c", false },
		{ "**/a*/b", "a/x/ab/b", true },
		{ "**.txt", "a/b.txt", true },
		{ "x**/b", "xb", true },
		{ "**/a/**/b", "a/c/a/d/b", true },
		{ "*a*b*", "xaybz", true },
		{ "*a*b", "xaybz", false },
		{ "", "", true },
		{ "", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (pattern_matches(samples[i].pattern, samples[i].path) !=
		    samples[i].matches)
			fail_msg("'%s' and '%s'", samples[i].pattern, samples[i].path);
}

static void test_files(void **state)
{
	static const struct {
		const char *file, *path;
		bool is_out;
	} samples[] = {
		{ "", "a", false },
		{ "# a\n", "a", false },
		{ "a\n", "a", true },
		{ "a", "a/b/c", true },
		{ "/a/\r\n", "a/b", true },
		{ "./a", "a", true },
		{ "b/../a", "a", true },
		{ "../a", "a", true },
		{ "*\n!a", "a", false },
		{ "*\n!a", "b", true },
		{ "*\n! a\n", "a", false },
		{ "*\n!a\na/b", "a/b", true },
		{ "*\n!a\na/b", "a/c", false },
		{ "!a\n*", "a", true },
		{ "*.md\n!README*.md\nREADME-secret.md", "README.md", false },
		{ "*.md\n!README*.md\nREADME-secret.md", "README-secret.md", true },
		{ "*/temp*", "x/temporary", true },
		{ "*/temp*", "x/y/temporary", false },
		{ "**/node_modules", "a/b/node_modules/c", true },
		{ "  a  \n", "a", true },
		{ ".", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct ignore ignore;
		struct err e;
		assert_int_equal(ignore_read(samples[i].file, strlen(samples[i].file),
					     "f", &ignore, &e),
				 0);
		if (ignore_has(&ignore, samples[i].path) != samples[i].is_out)
			fail_msg("'%s' and '%s'", samples[i].file, samples[i].path);
		ignore_done(&ignore);
	}
}

static void test_a_file_that_is_no_text_is_refused(void **state)
{
	struct ignore ignore;
	struct err e;

	(void)state;
	assert_int_equal(ignore_read("a\0b", 3, ".dockerignore", &ignore, &e), -1);
	assert_non_null(strstr(e.text, ".dockerignore"));
}

static void test_stars_cost_no_more_than_their_place(void **state)
{
	char pattern[256], path[4096];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + sizeof(pattern) - 3, "b\0", 3);
	int64_t begin = cost_us();
	assert_false(pattern_matches(pattern, path));
	assert_true(cost_us() - begin < 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_a_file_that_is_no_text_is_refused),
		cmocka_unit_test(test_stars_cost_no_more_than_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
