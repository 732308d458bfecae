/* repository: finds the repository to which a path in a .git folder belongs; a
 * repository that is marked as broken keeps the first reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/repository.h"

static void test_the_outermost_folder_of_gits_counts(void **state)
{
	static const struct {
		const char *path;
		size_t len;
	} rows[] = {
		{ ".git", 4 },
		{ ".git/index", 4 },
		{ "a/.git/refs/x", 6 },
		{ "a/.git/m/.git/x", 6 },
		{ "a", 0 },
		{ "", 0 },
		{ ".gitignore", 0 },
		{ "x.git/HEAD", 0 },
		{ "a/.github/.git", 14 },
		{ "a/.git.x/b", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(repository_len(rows[i].path), rows[i].len);
}

static void test_a_path_in_a_broken_repository_finds_it_and_the_fault(void **state)
{
	struct repositories r = { 0 };

	(void)state;
	repository_break(&r, "b/.git/index", "was changed");
	repository_break(&r, "b/.git/HEAD", "is another reason");
	repository_break(&r, "a/.git", "is a FIFO");
	repository_break(&r, "file", "is in none");
	assert_int_equal(r.count, 2);
	assert_string_equal(repository_find(&r, "b/.git/refs/heads/x")->why,
			    "index in it was changed");
	assert_string_equal(repository_find(&r, "b/.git")->path, "b/.git");
	assert_string_equal(repository_find(&r, "a/.git/x")->why, "is a FIFO");
	assert_null(repository_find(&r, "b/.gitignore"));
	assert_null(repository_find(&r, "b"));
	assert_null(repository_find(&r, "b/c/.git"));
	assert_null(repository_find(&r, "file"));
	repositories_done(&r);
	assert_null(repository_find(&r, "a/.git"));
}

/* Adds many paths in any order.  A path that only begins like another one is a
 * different one. */
static void test_many_are_each_found(void **state)
{
	struct repositories r = { 0 };

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		AUTO_FREE char *path = text_format("%u/.git/x", i * 7919 % 1000);
		repository_break(&r, path, "was changed");
	}
	assert_int_equal(r.count, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		AUTO_FREE char *path = text_format("%u/.git/other", i);
		AUTO_FREE char *none = text_format("%u/x.git/other", i);
		assert_non_null(repository_find(&r, path));
		assert_null(repository_find(&r, none));
	}
	repositories_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_outermost_folder_of_gits_counts),
		cmocka_unit_test(
			test_a_path_in_a_broken_repository_finds_it_and_the_fault),
		cmocka_unit_test(test_many_are_each_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
