#include "rootfs-tools/registry/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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
	progress_begin(&p, "a", 2, 300, 1000);
	progress_at(&p, 0, 100, 1000);
	progress_at(&p, 1, 50, 1000);
	progress_at(&p, 0, 10, 1000);
	assert_int_equal(p.have, 60);
	progress_fetched(&p, 0, 200, 1000);
	progress_unpacked(&p, 0, 1000);
	assert_int_equal(p.have, 250);
	assert_int_equal(p.done, 1);
	progress_end(&p);
}

enum news { AT, FETCHED, UNPACKED };

/* Events with their times, and the time at which the progress line was last drawn. */
static const struct {
	int64_t at, drawn;
	enum news what;
	size_t layer;
} drawn[] = {
	{ 1000, 1000, AT, 0 },	     { 1099, 1000, AT, 0 },
	{ 1099, 1000, FETCHED, 0 },  { 1099, 1000, UNPACKED, 0 },
	{ 1100, 1100, AT, 1 },	     { 1199, 1100, AT, 1 },
	{ 5000, 5000, AT, 1 },	     { 5001, 5000, FETCHED, 1 },
	{ 5001, 5001, UNPACKED, 1 },
};

static void test_the_line_is_drawn_ten_times_a_second_and_at_the_end(void **state)
{
	struct progress p = { .style = PROGRESS_BAR };
	AUTO_FREE char *told = NULL;
	size_t size = 0;
	FILE *real = stderr, *mine = open_memstream(&told, &size);

	(void)state;
	assert_non_null(mine);
	stderr = mine;
	progress_begin(&p, "a", 2, 300, 1000);
	for (size_t i = 0; i < ARRAY_LEN(drawn); i++) {
		if (drawn[i].what == AT)
			progress_at(&p, drawn[i].layer, 10 * i, drawn[i].at);
		else if (drawn[i].what == FETCHED)
			progress_fetched(&p, drawn[i].layer, 150, drawn[i].at);
		else
			progress_unpacked(&p, drawn[i].layer, drawn[i].at);
		if (p.drawn_ms != drawn[i].drawn) {
			stderr = real;
			fail_msg("row %zu: drawn at %lld", i, (long long)p.drawn_ms);
		}
	}
	progress_end(&p);
	stderr = real;
	assert_int_equal(fclose(mine), 0);
	size_t lines = 0;
	for (const char *at = told; (at = strchr(at, '\r')); at++)
		lines++;
	/* At the start, after three of the events, and at the end. */
	assert_int_equal(lines, 5);
	assert_non_null(strstr(told, "2 of 2 layers"));
	assert_false(p.is_drawn);
}

static void test_a_speed_is_told_after_a_second(void **state)
{
	static const struct {
		int64_t took;
		const char *text;
	} speeds[] = { { 999, NULL }, { 1000, "50.0 MB/s" }, { 100000, "500.0 kB/s" } };
	const struct progress p = { .name = "a", .count = 1, .total = 50000000,
				    .have = 50000000, .began_ms = 7000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(speeds); i++) {
		AUTO_FREE char *text = progress_line(&p, 110, 7000 + speeds[i].took);
		assert_true(speeds[i].text ? strstr(text, speeds[i].text) != NULL
					   : strstr(text, "/s") == NULL);
	}
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
		cmocka_unit_test(
			test_the_line_is_drawn_ten_times_a_second_and_at_the_end),
		cmocka_unit_test(test_a_speed_is_told_after_a_second),
		cmocka_unit_test(test_nothing_to_get_is_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
