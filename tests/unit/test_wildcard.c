#include "policy/wildcard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static void test_stars_and_question_marks(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} samples[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "", false },
		{ "a", "a", true },
		{ "a", "A", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "**", "abc", true },
		{ "a*", "a", true },
		{ "a*c", "abc", true },
		{ "a*c", "abcd", false },
		{ "*b*", "abc", true },
		{ "*ab", "aab", true },
		{ "*ab*ab", "abab", true },
		{ "*ab*ab", "abxb", false },
		{ "?", "", false },
		{ "?", "a", true },
		{ "?", "ab", false },
		{ "?", "\xc3\xa4", true },
		{ "??", "\xc3\xa4", false },
		{ "?", "\xff", true },
		{ "*??b*",
		  "\xe2\x82\xac"
		  "bx",
		  false },
		{ "*?b*",
		  "\xe2\x82\xac"
		  "bx",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (wildcard_matches(samples[i].pattern, strlen(samples[i].pattern),
				     samples[i].name,
				     strlen(samples[i].name)) != samples[i].matches)
			fail_msg("'%s' and '%s'", samples[i].pattern, samples[i].name);
}

/* With several stars in a pattern the time is still at most the product of the two
 * lengths. */
static void test_the_time_is_the_product_of_the_lengths_at_most(void **state)
{
	char pattern[200], *name = malloc(100000);

	(void)state;
	assert_non_null(name);
	memset(name, 'a', 100000);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % 2 ? 'a' : '*';
	pattern[sizeof(pattern) - 1] = 'b';
	assert_false(wildcard_matches(pattern, sizeof(pattern), name, 100000));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stars_and_question_marks),
		cmocka_unit_test(test_the_time_is_the_product_of_the_lengths_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
