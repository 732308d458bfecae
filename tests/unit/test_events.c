/* events: the form of their times. */
#include "supervisor/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

static void test_a_time_is_utc_with_three_digits_of_a_second(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1709210096007, "2024-02-29T12:34:56.007Z" },
		{ 1798761599999, "2026-12-31T23:59:59.999Z" },
		{ 253402300800000, "10000-01-01T00:00:00.000Z" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *text = events_time(rows[i].ms);
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_time_is_utc_with_three_digits_of_a_second),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
