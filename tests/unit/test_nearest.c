#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static const char *const names[] = { "run",  "rm",    "ps",	 "pool",   "port",
				     "exec", "image", "inspect", "create", "events" };

static void test_a_mistyped_word_has_a_nearest_name(void **state)
{
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ "rnu", "run" },
		{ "runn", "run" },
		{ "exce", "exec" },
		{ "imgae", "image" },
		{ "insepct", "inspect" },
		{ "creat", "create" },
		{ "craete", "create" },
		{ "evnts", "events" },
		{ "porr", "port" },
		{ "pork", "port" },
		{ "inspct", "inspect" },
		{ "run", "run" },
		{ "RUN", "run" },
		{ "Inspcet", "inspect" },
		{ "INSPECTOR", "inspect" },
		{ "", NULL },
		{ "x", NULL },
		{ "rx", NULL },
		{ "insp", "inspect" },
		{ "im", NULL },
		{ "changes", NULL },
		{ "ubuntu", NULL },
		{ "frobnicate", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct nearest n;
		nearest_init(&n, rows[i].word, strlen(rows[i].word));
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			nearest_try(&n, names[k]);
		if (!rows[i].name && nearest_name(&n))
			fail_msg("%s is taken for %s", rows[i].word, nearest_name(&n));
		if (rows[i].name)
			assert_string_equal(nearest_name(&n), rows[i].name);
	}
}

static void test_the_word_ends_where_its_length_says(void **state)
{
	struct nearest n;

	(void)state;
	nearest_init(&n, "memroy=512m", 6);
	nearest_try(&n, "memory");
	assert_string_equal(nearest_name(&n), "memory");
}

static void test_an_error_ends_with_what_is_meant(void **state)
{
	struct nearest n;
	struct err e = { 0 };

	(void)state;
	nearest_init(&n, "memroy", 6);
	nearest_try(&n, "memory");
	(void)err_set(&e, ERR_USAGE, "unknown flag --memroy");
	assert_int_equal(nearest_suggest(&n, "--", &e), -1);
	assert_string_equal(e.text, "unknown flag --memroy; is it --memory?");
	nearest_init(&n, "zebra", 5);
	nearest_try(&n, "memory");
	(void)nearest_suggest(&n, "--", &e);
	assert_string_equal(e.text, "unknown flag --memroy; is it --memory?");
	memset(e.text, 'a', sizeof(e.text) - 1);
	nearest_init(&n, "memory", 6);
	nearest_try(&n, "memory");
	(void)nearest_suggest(&n, "--", &e); /* there is no room */
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

/* Words come from the command line and may be of any length. */
static void test_long_words_have_no_nearest_name(void **state)
{
	char word[NEAREST_MAX + 2];
	struct nearest n;

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	nearest_init(&n, word, NEAREST_MAX);
	nearest_try(&n, word); /* longer by one byte */
	assert_null(nearest_name(&n));
	nearest_try(&n, word + 1);
	assert_string_equal(nearest_name(&n), word + 1);
	nearest_init(&n, word, NEAREST_MAX + 1);
	nearest_try(&n, word);
	assert_null(nearest_name(&n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mistyped_word_has_a_nearest_name),
		cmocka_unit_test(test_the_word_ends_where_its_length_says),
		cmocka_unit_test(test_an_error_ends_with_what_is_meant),
		cmocka_unit_test(test_long_words_have_no_nearest_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
