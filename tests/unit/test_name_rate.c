/* name_rate: 64 new names in any 60 s, whenever they come. */
#include "egress/name_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

static void test_names_at_times(void **state)
{
	/* Each row tries `tries` names at `now`, of which `taken` are. */
	static const struct {
		int64_t now;
		unsigned tries, taken;
	} rows[] = {
		{ 5, 60, 60 },	    { 30000, 10, 4 },	{ 60004, 10, 0 },
		{ 60005, 61, 60 },  { 89999, 5, 0 },	{ 90000, 5, 4 },
		{ 120004, 1, 0 },   { 120005, 1, 1 },	{ 1000000, 100, 64 },
		{ 1000000, 1, 0 },  { 1059999, 1, 0 },	{ 1060000, 100, 64 },
	};
	struct name_rate r = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned taken = 0;
		for (unsigned k = 0; k < rows[i].tries; k++)
			taken += name_rate_take(&r, rows[i].now);
		if (taken != rows[i].taken)
			fail_msg("row %zu: %u were taken", i, taken);
	}
}

static void test_one_a_second_is_never_too_many(void **state)
{
	struct name_rate r = { 0 };

	(void)state;
	for (int64_t now = 0; now < 1000000; now += 1000)
		assert_true(name_rate_take(&r, now));
}

/* Whatever the guest's rhythm, the names of each minute are counted again. */
static void test_no_minute_has_more(void **state)
{
	static int64_t taken[4000];
	struct name_rate r = { 0 };
	uint32_t x = 1;
	size_t count = 0;

	(void)state;
	for (int64_t now = 0; count < ARRAY_LEN(taken); now += x >> 22) {
		x = x * 1664525 + 1013904223;
		if (name_rate_take(&r, now))
			taken[count++] = now;
	}
	for (size_t i = NAME_RATE_MAX; i < count; i++)
		assert_true(taken[i] - taken[i - NAME_RATE_MAX] >= NAME_RATE_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_at_times),
		cmocka_unit_test(test_one_a_second_is_never_too_many),
		cmocka_unit_test(test_no_minute_has_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
