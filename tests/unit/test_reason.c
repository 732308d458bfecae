/* reason: each reason has a word of its own, which JSON and audit lines carry. */
#include "policy/egress/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_each_reason_has_its_own_word_and_words(void **state)
{
	(void)state;
	for (unsigned a = 0; a < REASON_COUNT; a++) {
		assert_non_null(reason_word(a));
		assert_true(*reason_text(a));
		for (unsigned b = 0; b < a; b++) {
			assert_string_not_equal(reason_word(a), reason_word(b));
			assert_string_not_equal(reason_text(a), reason_text(b));
		}
	}
	assert_string_equal(reason_word(REASON_NONE), "");
}

static void test_a_word_is_lower_case_with_dashes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		const char *word = reason_word(i);
		assert_int_equal(strspn(word, "abcdefghijklmnopqrstuvwxyz-"),
				 strlen(word));
	}
}

static void test_a_number_that_is_no_reason_has_words(void **state)
{
	(void)state;
	assert_string_equal(reason_word(REASON_COUNT), "unknown");
	assert_string_equal(reason_word(UINT32_MAX), "unknown");
	assert_true(*reason_text(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_reason_has_its_own_word_and_words),
		cmocka_unit_test(test_a_word_is_lower_case_with_dashes),
		cmocka_unit_test(test_a_number_that_is_no_reason_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
