/* wait: each row gives a time, and how long a call of libhutch then still waits for
 * its answer.  No test waits. */
#include "lib/wait.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/own.h"

#define BEGAN 7000

static const struct {
	int timeout_ms;
	int64_t after; /* ms from the begin of the call */
	bool has_read; /* this turn read something */
	bool is_late;
	int wait_ms; /* for poll(2) */
} cases[] = {
	{ -1, 0, false, false, -1 },	     { -1, INT64_MAX / 2, false, false, -1 },
	{ 0, 0, false, true, 0 },	     { 0, 0, true, false, 0 },
	{ 0, 4, true, false, 0 },	     { 0, 5, true, true, 0 },
	{ 100, 0, false, false, 100 },	     { 100, 99, false, false, 1 },
	{ 100, 99, true, false, 1 },	     { 100, 100, false, true, 0 },
	{ 100, 100, true, false, 0 },	     { 100, 104, true, false, 0 },
	{ 100, 105, true, true, 0 },	     { 100, 5000, false, true, 0 },
	{ INT_MAX, 0, false, false, 3600000 }, { INT_MAX, INT_MAX, false, true, 0 },
};

static void test_a_call_ends_by_its_time_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const int64_t due = wait_due(cases[i].timeout_ms, BEGAN);
		const int64_t now = BEGAN + cases[i].after;
		if (wait_is_late(due, cases[i].has_read, now) != cases[i].is_late)
			fail_msg("row %zu: late %d", i, !cases[i].is_late);
		assert_int_equal(clock_wait(due, now), cases[i].wait_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		test_a_call_ends_by_its_time_out) };

	return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
