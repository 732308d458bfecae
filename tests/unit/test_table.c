#include "cli/common/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/own.h"

static void test_columns_are_as_wide_as_what_is_in_them(void **state)
{
	static const char *const cells[] = { "NAME", "ID",     "b\xc3\xa9",
					     "1",    "longer", "\33[2J" };
	struct table t = { .columns = 2 };
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		table_add(&t, text_copy(cells[i]));
	table_add(&t, NULL);
	table_add(&t, text_copy("x"));
	table_print(&t, to);
	table_done(&t);
	table_done(&t);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, "NAME     ID\n"
				  "b\xc3\xa9       1\n"
				  "longer   ^[[2J\n"
				  "-        x\n");
}

static void test_one_that_is_much_wider_moves_no_other(void **state)
{
	static const char *const cells[] = { "A", "1",
		"a cell that nobody would want all the others to stand behind", "2" };
	struct table t = { .columns = 2 };
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		table_add(&t, text_copy(cells[i]));
	table_print(&t, to);
	table_done(&t);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text,
			    "A   1\na cell that nobody would want all the others to "
			    "stand behind   2\n");
}

static const char *const spare[] = { "PIDS", "ID", "IMAGE", NULL };

/* A table that is to fit into lines of `width` characters, and what is printed of it. */
static const struct {
	size_t width;
	const char *text;
} fits[] = {
	{ 0, "NAME   ID   PIDS   FOLDER\n"
	     "box    12   3      /home/b\xc3\xa9"
	     "a/work/deep/project\n"
	     "-      -    -      /x\n" },
	{ 80, "NAME   ID   PIDS   FOLDER\n"
	      "box    12   3      /home/b\xc3\xa9"
	      "a/work/deep/project\n"
	      "-      -    -      /x\n" },
	{ 44, "NAME   ID   PIDS   FOLDER\n"
	      "box    12   3      .../b\xc3\xa9"
	      "a/work/deep/project\n"
	      "-      -    -      /x\n" },
	/* 16 characters of the folder come before the number of processes */
	{ 34, "NAME   ID   FOLDER\n"
	      "box    12   ...a/work/deep/project\n"
	      "-      -    /x\n" },
	{ 27, "NAME   FOLDER\n"
	      "box    ...work/deep/project\n"
	      "-      /x\n" },
	{ 1, "NAME   FOLDER\n"
	     "box    .../deep/project\n"
	     "-      /x\n" },
};

static char *fit(size_t width)
{
	static const char *const cells[] = {
		"NAME",
		"ID",
		"PIDS",
		"FOLDER",
		"box",
		"12",
		"3",
		"/home/b\u00e9a/work/deep/project",
		"-",
		"-",
		"-",
		"/x",
	};
	struct table t = { .columns = 4 };
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		table_add(&t, text_copy(cells[i]));
	table_fit(&t, width, spare, "FOLDER");
	table_print(&t, to);
	table_done(&t);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void test_columns_and_the_front_of_a_path_are_left_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
		AUTO_FREE char *text = fit(fits[i].width);
		assert_string_equal(text, fits[i].text);
	}
}

static void test_the_home_is_written_as_a_tilde(void **state)
{
	static const char *const rows[][3] = {
		{ "/home/ada", "/home/ada", "~" },
		{ "/home/ada", "/home/ada/x", "~/x" },
		{ "/home/ada", "/home/adam/x", "/home/adam/x" },
		{ "/home/ada", "/home", "/home" },
		{ "/", "/x", "/x" },
		{ "", "/x", "/x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(setenv("HOME", rows[i][0], 1), 0);
		AUTO_FREE char *path = table_path(rows[i][1]);
		assert_string_equal(path, rows[i][2]);
	}
	assert_null(table_path(NULL));
}

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0B" },		    { 1023, "1023B" },	       { 1024, "1.0KiB" },
	{ 12900000, "12.3MiB" },    { 5ull << 30, "5.0GiB" },  { UINT64_MAX, "16.0EiB" },
};

static void test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		AUTO_FREE char *text = table_bytes(sizes[i].bytes);
		assert_string_equal(text, sizes[i].text);
	}
}

static const struct {
	int64_t seconds;
	const char *text;
} ages[] = {
	{ 0, "0 seconds ago" },
	{ 1, "1 second ago" },
	{ 59, "59 seconds ago" },
	{ 60, "1 minute ago" },
	{ 120, "2 minutes ago" },
	{ 3599, "59 minutes ago" },
	{ 3600, "1 hour ago" },
	{ 3 * 3600 + 5, "3 hours ago" },
	{ 48 * 3600 - 1, "47 hours ago" },
	{ 48 * 3600, "2 days ago" },
	{ 1000 * 86400, "1000 days ago" },
	{ -100, "0 seconds ago" },
};

static void test_ages(void **state)
{
	const int64_t then = 1767268800; /* date -d 2026-01-01T12:00:00Z +%s */

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ages); i++) {
		AUTO_FREE char *age =
			table_age("2026-01-01T12:00:00Z", then + ages[i].seconds);
		assert_string_equal(age, ages[i].text);
	}
	assert_null(table_age(NULL, then));
	assert_null(table_age("yesterday", then));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_as_wide_as_what_is_in_them),
		cmocka_unit_test(test_one_that_is_much_wider_moves_no_other),
		cmocka_unit_test(test_columns_and_the_front_of_a_path_are_left_out),
		cmocka_unit_test(test_the_home_is_written_as_a_tilde),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_ages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
