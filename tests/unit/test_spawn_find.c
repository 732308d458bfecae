/* spawn_find: finds the programs that pid 1 starts on a session's PATH. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/spawn.h"

/* A folder with a program `good` and a file `plain`, where the test works. */
static char folder[] = "/tmp/hutch-find-XXXXXX";

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mknod("good", S_IFREG | 0700, 0), 0);
	assert_int_equal(mknod("plain", S_IFREG | 0600, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink("good") | unlink("plain") | chdir("/") | rmdir(folder);
}

static bool finds(const char *path, const char *name, char found[PATH_MAX])
{
	char text[2 * PATH_MAX], *env[] = { text, NULL };

	strcpy(stpcpy(text, "PATH="), path);
	return spawn_find(env, name, found);
}

static void test_a_program_is_found_in_a_later_folder(void **state)
{
	char path[PATH_MAX], found[PATH_MAX], wanted[PATH_MAX];

	(void)state;
	strcpy(stpcpy(stpcpy(path, "/nonesuch:"), folder), ":/usr/bin");
	strcpy(stpcpy(wanted, folder), "/good");
	assert_true(finds(path, "good", found));
	assert_string_equal(found, wanted);
	assert_false(finds(path, "nonesuch", found));
	assert_false(finds(path, "plain", found));
}

/* A relative folder in PATH could be in the tree that the command works on, so it is
 * skipped. */
static void test_a_relative_folder_is_left_out(void **state)
{
	static const char *const paths[] = { "",   ":",		 ".",
					     "./", "nonesuch:.", "::/nonesuch" };
	char found[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (finds(paths[i], "good", found))
			fail_msg("PATH='%s' leads to %s", paths[i], found);
}

static void test_a_folder_that_is_too_long_is_passed_over(void **state)
{
	char path[2 * PATH_MAX] = { 0 }, found[PATH_MAX];

	(void)state;
	memset(path, '/', PATH_MAX);
	strcpy(stpcpy(path + PATH_MAX, ":"), folder);
	assert_true(finds(path, "good", found));
}

static void test_the_default_path_holds_without_one(void **state)
{
	char *env[] = { NULL }, found[PATH_MAX];

	(void)state;
	assert_true(spawn_find(env, "sh", found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_is_found_in_a_later_folder),
		cmocka_unit_test(test_a_relative_folder_is_left_out),
		cmocka_unit_test(test_a_folder_that_is_too_long_is_passed_over),
		cmocka_unit_test(test_the_default_path_holds_without_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
