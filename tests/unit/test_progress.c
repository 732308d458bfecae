#include "rootfs-tools/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 B" },	      { 999, "999 B" },		 { 1000, "1.0 kB" },
	{ 1049, "1.0 kB" },   { 45200000, "45.2 MB" },	 { 999949, "999.9 kB" },
	{ 999951, "1.0 MB" }, { UINT64_MAX, "18.4 EB" },
};

static void test_sizes_are_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char text[16];
		progress_bytes(sizes[i].bytes, text);
		assert_string_equal(text, sizes[i].text);
	}
}

static void test_the_line_is_as_wide_as_the_terminal_at_most(void **state)
{
	const struct progress p = { .name = "python:3.12",
				    .count = 8,
				    .done = 2,
				    .total = 100000000,
				    .have = 50000000 };

	(void)state;
	for (size_t columns = 0; columns < 120; columns++) {
		AUTO_FREE char *line = progress_line(&p, columns, 5000);
		assert_true(strlen(line) <= columns);
	}
	AUTO_FREE char *wide = progress_line(&p, 110, 5000);
	assert_string_equal(wide,
			    "python:3.12  [====================>                   ]  "
			    "50.0 MB of 100.0 MB  2 of 8 layers  10.0 MB/s");
	AUTO_FREE char *early = progress_line(&p, 50, 10);
	assert_string_equal(early, "python:3.12  50.0 MB of 100.0 MB  2 of 8 layers");
}

static void test_a_layer_that_begins_anew_takes_its_bytes_back(void **state)
{
	struct progress p = { .style = PROGRESS_NONE };

	(void)state;
	progress_begin(&p, "a", 2, 300);
	progress_at(&p, 0, 100);
	progress_at(&p, 1, 50);
	progress_at(&p, 0, 10);
	assert_int_equal(p.have, 60);
	progress_fetched(&p, 0, 200);
	progress_unpacked(&p, 0);
	assert_int_equal(p.have, 250);
	assert_int_equal(p.done, 1);
	progress_end(&p);
}

static void test_nothing_to_get_is_all_of_it(void **state)
{
	const struct progress p = { .name = "a" };
	AUTO_FREE char *line = progress_line(&p, 60, 0);

	(void)state;
	assert_non_null(strstr(line, "=] "));
	assert_non_null(strstr(line, "0 B of 0 B  0 of 0 layers"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_short),
		cmocka_unit_test(test_the_line_is_as_wide_as_the_terminal_at_most),
		cmocka_unit_test(test_a_layer_that_begins_anew_takes_its_bytes_back),
		cmocka_unit_test(test_nothing_to_get_is_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
