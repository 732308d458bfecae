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
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_ages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
