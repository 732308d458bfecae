/* ending: decides when the executor ends the sandbox, whatever its processes do. */
#include "executor/ending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

static const struct {
	const char *what;
	struct {
		int64_t at;
		uint32_t grace_ms;
	} asked[2]; /* `at` 0: there is no further request */
	int64_t now;
	bool is_due;
	int64_t next;
} graces[] = {
	{ "nobody has asked", { { 0 } }, INT64_MAX, false, 0 },
	{ "a moment before", { { 1000, 500 } }, 1499, false, 1500 },
	{ "then", { { 1000, 500 } }, 1500, true, 1500 },
	{ "no grace", { { 1000, 0 } }, 1000, true, 1000 },
	{ "a longer one does not put it off",
	  { { 1000, 500 }, { 1100, 9000 } },
	  1499,
	  false,
	  1500 },
	{ "nor does the same once more",
	  { { 1000, 500 }, { 1400, 500 } },
	  1500,
	  true,
	  1500 },
	{ "a shorter one is meant", { { 1000, 9000 }, { 1100, 50 } }, 1149, false, 1150 },
	{ "and passes", { { 1000, 9000 }, { 1100, 50 } }, 1150, true, 1150 },
	{ "none after all", { { 1000, 9000 }, { 1100, 0 } }, 1100, true, 1100 },
	{ "the longest",
	  { { 1000, UINT32_MAX } },
	  1000 + (int64_t)UINT32_MAX - 1,
	  false,
	  1000 + (int64_t)UINT32_MAX },
};

static void test_the_grace_passes_when_its_time_has_come(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(graces); i++) {
		struct ending n = { 0 };
		for (size_t k = 0; k < 2 && graces[i].asked[k].at; k++)
			ending_ask(&n, graces[i].asked[k].grace_ms,
				   graces[i].asked[k].at);
		if (ending_is_due(&n, graces[i].now) != graces[i].is_due ||
		    ending_next(&n, graces[i].now) != graces[i].next)
			fail_msg("%s: next at %lld", graces[i].what,
				 (long long)ending_next(&n, graces[i].now));
	}
}

static void test_last_words_put_the_end_off_for_so_long_and_no_longer(void **state)
{
	const int64_t due = 1000 + ENDING_WORDS_MS;
	struct ending n = { 0 };

	(void)state;
	assert_true(ending_waits_for_words(&n, 1000));
	assert_true(ending_next(&n, 1000) == 0); /* asking alone begins nothing */
	ending_expect_words(&n, 1000);
	assert_true(ending_waits_for_words(&n, 1000));
	assert_true(ending_next(&n, 1000) == due);
	/* Expecting words again does not extend the time. */
	ending_expect_words(&n, due - 1);
	assert_true(ending_waits_for_words(&n, due - 1));
	assert_false(ending_waits_for_words(&n, due));
	assert_false(ending_waits_for_words(&n, due + 5000));
	/* A deadline that has passed is not returned: poll(2) would return at once,
	 * for ever. */
	assert_true(ending_next(&n, due) == 0);
	ending_ask(&n, 9000, due);
	assert_true(ending_next(&n, due) == due + 9000);
}

static void test_the_earlier_of_both_is_next(void **state)
{
	struct ending n = { 0 };

	(void)state;
	ending_ask(&n, 9000, 1000);
	ending_expect_words(&n, 1200);
	assert_true(ending_next(&n, 1200) == 1200 + ENDING_WORDS_MS);
	ending_ask(&n, 300, 1200);
	assert_true(ending_next(&n, 1200) == 1500);
	/* Words that are still expected do not delay the end of the grace period. */
	assert_true(ending_waits_for_words(&n, 1500));
	assert_true(ending_is_due(&n, 1500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_grace_passes_when_its_time_has_come),
		cmocka_unit_test(
			test_last_words_put_the_end_off_for_so_long_and_no_longer),
		cmocka_unit_test(test_the_earlier_of_both_is_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
