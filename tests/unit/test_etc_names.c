/* etc_names: lists a folder once, and again only after the folder has changed. */
#include "sandbox/plan/etc_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fnv1a.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/unit/scene.h"

#define KEPT "hutch/.etc-names"

static int setup(void **state)
{
	if (scene_setup(state) < 0 || setenv("XDG_RUNTIME_DIR", *state, 1) < 0)
		return -1;
	scene_dir(state, "hutch");
	scene_dir(state, "etc");
	scene_file(state, "etc/services", "");
	scene_file(state, "etc/python3.11", "");
	scene_file(state, "etc/shadow", "");
	return 0;
}

#define LATER INT64_MAX /* a time after all changes */

/* Returns the names, with a space behind each. */
static char *names(void **state, int64_t now)
{
	AUTO_FREE char *etc = scene_path(state, "etc");
	AUTO_FREE char *services = text_format("%s/services", etc);
	AUTO_FREE char *inner = text_format("%s/X11/rgb.txt", etc);
	const char *const paths[] = { services, inner };
	const char *const prefixes[] = { "python3." };
	const struct etc_wanted w = { .folder = etc,
				      .paths = paths,
				      .path_count = 2,
				      .prefixes = prefixes,
				      .prefix_count = 1 };
	struct list found = { 0 }, lines = { 0 };
	struct err e;

	assert_int_equal(etc_names_list(&w, now, &found, &e), 0);
	for (size_t i = 0; i < found.count; i++)
		list_addf(&lines, "%s ", found.items[i] + strlen(etc) + 1);
	char *text = list_join(&lines, 0, "");
	list_done(&found);
	list_done(&lines);
	return text;
}

static void check(void **state, const char *expected)
{
	AUTO_FREE char *got = names(state, LATER);

	assert_string_equal(got, expected);
}

static void replace(char *bytes, size_t len, const void *from, const void *to,
		    size_t size)
{
	char *at = memmem(bytes, len, from, size);

	assert_non_null(at);
	memcpy(at, to, size);
}

/* Puts `to` in the place of `from`, which is as long, in the kept file. */
static void forge(void **state, const void *from, const void *to, size_t size)
{
	AUTO_FREE char *path = scene_path(state, KEPT);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	char bytes[4096];
	const ssize_t n = read(fd, bytes, sizeof(bytes));

	assert_true(n > 0);
	replace(bytes, (size_t)n, from, to, size);
	assert_int_equal(pwrite(fd, bytes, (size_t)n, 0), n);
}

/* Returns the hash of these two names, as the kept file has it. */
static uint64_t hash_of(void **state, const char *first, const char *second)
{
	AUTO_FREE char *etc = scene_path(state, "etc");
	AUTO_FREE char *one = text_format("%s/%s", etc, first);
	AUTO_FREE char *two = text_format("%s/%s", etc, second);

	return fnv1a(fnv1a(FNV1A_START, one, strlen(one) + 1), two, strlen(two) + 1);
}

static bool is_kept(void **state)
{
	AUTO_FREE char *path = scene_path(state, KEPT);

	return access(path, F_OK) == 0;
}

static void test_entries_that_are_there_are_named(void **state)
{
	check(state, "python3.11 services ");
	scene_dir(state, "etc/X11");
	check(state, "python3.11 services X11/rgb.txt ");
}

/* The file names a service that the folder does not have: that name is told. */
static void test_names_are_kept_while_the_folder_is_as_it_was(void **state)
{
	const uint64_t old = hash_of(state, "python3.11", "services");
	const uint64_t new = hash_of(state, "python3.11", "servicex");

	check(state, "python3.11 services ");
	forge(state, "services", "servicex", 8);
	forge(state, &old, &new, sizeof(old));
	check(state, "python3.11 servicex ");
}

/* The file names a service that the folder does not have, and has one other number: the
 * folder is listed anew. */
static void check_other(void **state, uint64_t number)
{
	const uint64_t old = hash_of(state, "python3.11", "services");
	const uint64_t new = hash_of(state, "python3.11", "servicex");
	const uint64_t other = number - 1;

	check(state, "python3.11 services ");
	forge(state, "services", "servicex", 8);
	forge(state, &old, &new, sizeof(old));
	forge(state, &number, &other, sizeof(number));
	check(state, "python3.11 services ");
}

static void test_a_changed_folder_is_listed_anew(void **state)
{
	AUTO_FREE char *etc = scene_path(state, "etc");
	struct stat st;

	assert_int_equal(stat(etc, &st), 0);
	check_other(state, (uint64_t)clock_ns(&st.st_ctim));
	check_other(state, st.st_ino);
	check_other(state, st.st_dev);
}

static void test_a_replaced_folder_is_listed_anew(void **state)
{
	AUTO_FREE char *etc = scene_path(state, "etc");
	AUTO_FREE char *other = scene_path(state, "other");

	check(state, "python3.11 services ");
	assert_int_equal(rename(etc, other), 0);
	scene_dir(state, "etc");
	scene_file(state, "etc/python3.12", "");
	check(state, "python3.12 ");
}

/* A crash may leave a file of which parts are missing, or are zeros. */
static void test_a_damaged_file_is_not_used(void **state)
{
	AUTO_FREE char *path = scene_path(state, KEPT);

	check(state, "python3.11 services ");
	forge(state, "services", "\0\0\0\0\0\0\0", 8);
	check(state, "python3.11 services ");
	assert_int_equal(truncate(path, 60), 0);
	check(state, "python3.11 services ");
	assert_int_equal(truncate(path, 0), 0);
	check(state, "python3.11 services ");
}

static void test_names_of_a_folder_that_has_just_changed_are_not_kept(void **state)
{
	AUTO_FREE char *etc = scene_path(state, "etc");
	struct stat st;

	assert_int_equal(stat(etc, &st), 0);
	const int64_t still = clock_ns(&st.st_ctim) + ETC_NAMES_STILL_NS;
	AUTO_FREE char *first = names(state, still);
	assert_string_equal(first, "python3.11 services ");
	assert_false(is_kept(state));
	AUTO_FREE char *second = names(state, still + 1);
	assert_string_equal(second, "python3.11 services ");
	assert_true(is_kept(state));
}

static void
test_launches_that_were_killed_leave_one_file_that_the_next_removes(void **state)
{
	AUTO_FREE char *path = scene_path(state, KEPT "-new");

	scene_file(state, KEPT "-new", "half");
	check(state, "python3.11 services ");
	assert_true(is_kept(state));
	assert_int_equal(access(path, F_OK), -1);
}

static void test_no_state_folder_and_no_folder_are_no_error(void **state)
{
	AUTO_FREE char *hutch = scene_path(state, "hutch");

	assert_int_equal(rmdir(hutch), 0);
	check(state, "python3.11 services ");
	AUTO_FREE char *etc = scene_path(state, "etc");
	AUTO_FREE char *other = scene_path(state, "other");
	assert_int_equal(rename(etc, other), 0);
	check(state, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scene_teardown)
		TEST(test_entries_that_are_there_are_named),
		TEST(test_names_are_kept_while_the_folder_is_as_it_was),
		TEST(test_a_changed_folder_is_listed_anew),
		TEST(test_a_replaced_folder_is_listed_anew),
		TEST(test_a_damaged_file_is_not_used),
		TEST(test_names_of_a_folder_that_has_just_changed_are_not_kept),
		TEST(test_launches_that_were_killed_leave_one_file_that_the_next_removes),
		TEST(test_no_state_folder_and_no_folder_are_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
