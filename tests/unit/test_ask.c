/* ask: which answers are yes, which are letters, and that each takes one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "cli/common/ask.h"

static FILE *input(const char *text)
{
	FILE *from = tmpfile();

	assert_non_null(from);
	(void)fputs(text, from);
	rewind(from);
	return from;
}

static const struct {
	const char *answer;
	bool is_yes;
	int letter;
} rows[] = {
	{ "y\n", true, 'y' },	     { "Y\n", true, 'y' },   { "yes\n", true, '?' },
	{ "YES\n", true, '?' },	     { "n\n", false, 'n' },  { "\n", false, '?' },
	{ "yess\n", false, '?' },    { " y\n", false, '?' }, { "y", true, 'y' },
	{ "", false, -1 },	     { "?\n", false, '?' },
	{ "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n", false, '?' },
};

static void test_each_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FILE *from = input(rows[i].answer);
		if (ask_yes(from, "so?") != rows[i].is_yes)
			fail_msg("'%s' is otherwise", rows[i].answer);
		rewind(from);
		if (ask_letter(from, "which?") != rows[i].letter)
			fail_msg("'%s' is otherwise", rows[i].answer);
		assert_int_equal(fclose(from), 0);
	}
}

static void test_the_rest_of_a_long_answer_is_no_other_answer(void **state)
{
	FILE *from = input("nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnny\ny\n");

	(void)state;
	assert_false(ask_yes(from, "so?"));
	assert_true(ask_yes(from, "so?"));
	assert_int_equal(ask_letter(from, "which?"), -1);
	assert_int_equal(fclose(from), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_answer),
		cmocka_unit_test(test_the_rest_of_a_long_answer_is_no_other_answer),
	};

	/* The questions would stand among the lines of the tests. */
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
