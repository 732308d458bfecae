/* state_dir: makes the names of records in .ended, and tells a folder from another
 * one of the same name. */
#include "sandbox/state/state_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "tests/unit/scene.h"

static void test_a_printed_end_is_parsed(void **state)
{
	const struct state_dir_ended x = { 1700000000000000, "0123456789ab", "a-b.c" };
	AUTO_FREE char *longest = text_format("a%062d", 0);
	struct state_dir_ended y = x, got;
	char text[STATE_DIR_ENDED_MAX];

	(void)state;
	state_dir_ended_print(&x, text);
	assert_string_equal(text, "00060a24181e4000-0123456789ab-a-b.c");
	assert_true(state_dir_ended_parse(&got, text));
	assert_true(got.us == x.us);
	assert_string_equal(got.id, x.id);
	assert_string_equal(got.name, x.name);
	memcpy(y.name, longest, sizeof(y.name));
	state_dir_ended_print(&y, text);
	assert_int_equal(strlen(text), STATE_DIR_ENDED_MAX - 1);
	assert_true(state_dir_ended_parse(&got, text));
	assert_string_equal(got.name, longest);
}

static void test_other_names_are_passed_over(void **state)
{
	static const char *const none[] = {
		"",
		"0",
		"00060a24181e4000",
		"00060a24181e4000-",
		"00060a24181e4000-0123456789ab",
		"00060a24181e4000-0123456789ab-",
		"00060a24181e4000-0123456789ab-.a",
		"00060a24181e4000-0123456789a-a",
		"00060a24181e4000-0123456789abc-a",
		"00060a24181e400-0123456789ab-a",
		"00060a24181e40000-0123456789ab-a",
		"00060A24181E4000-0123456789ab-a",
	};
	struct state_dir_ended got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (state_dir_ended_parse(&got, none[i]))
			fail_msg("'%s' was parsed", none[i]);
}

static int open_dir(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void test_a_folder_is_found_by_the_name_it_has_now(void **state)
{
	char name[REGISTRY_NAME_MAX + 1];

	scene_dir(state, "one");
	scene_dir(state, "aside");
	AUTO_CLOSE int base = open_dir(state, "");
	AUTO_CLOSE int aside = open_dir(state, "aside");
	AUTO_CLOSE int folder = open_dir(state, "one");
	assert_int_equal(renameat(base, "one", base, "two"), 0);
	assert_true(state_dir_find_name(base, folder, name));
	assert_string_equal(name, "two");
	/* The same name in another place is another folder. */
	assert_int_equal(renameat(base, "two", aside, "two"), 0);
	assert_false(state_dir_find_name(base, folder, name));
	scene_dir(state, "two");
	assert_false(state_dir_find_name(base, folder, name));
}

static void test_lines_of_any_length_are_whole_or_none(void **state)
{
	static const size_t lengths[] = { 0, 1, 4094, 4095, 4096, 4097,
					  REGISTRY_TEXT_MAX - 1 };
	AUTO_CLOSE int base = open_dir(state, "");
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		char line[REGISTRY_TEXT_MAX];
		memset(line, 'x', lengths[i]);
		line[lengths[i]] = '\0';
		assert_int_equal(state_dir_put(base, "f", line, &e), 0);
		AUTO_FREE char *got = state_dir_line_of(base, "f");
		assert_string_equal(got, line);
	}
	scene_file(state, "half", "no newline");
	assert_null(state_dir_line_of(base, "half"));
	assert_null(state_dir_line_of(base, "absent"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_printed_end_is_parsed),
		cmocka_unit_test(test_other_names_are_passed_over),
		TEST(test_a_folder_is_found_by_the_name_it_has_now),
		TEST(test_lines_of_any_length_are_whole_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
