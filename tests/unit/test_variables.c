/* variables: accepts valid variables only, and changes an environment by them. */
#include "base/variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

static void test_names_are_those_of_shells(void **state)
{
	static const struct {
		const char *name;
		bool is_one;
	} rows[] = {
		{ "A", true },	       { "a_1", true },		{ "_", true },
		{ "_9", true },	       { "__hutc", true },	{ "", false },
		{ "9A", false },       { "A-B", false },	{ "A B", false },
		{ "A=B", false },      { "A[0]", false },	{ "A\n", false },
		{ "\xc3\xa9", false }, { "__hutch_in", false }, { "__hutch", false },
		{ "$(x)", false },
	};
	char longest[VARIABLE_NAME_MAX + 2] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (variable_is_name(rows[i].name) != rows[i].is_one)
			fail_msg("'%s'", rows[i].name);
	memset(longest, 'A', VARIABLE_NAME_MAX);
	assert_true(variable_is_name(longest));
	longest[VARIABLE_NAME_MAX] = 'A';
	assert_false(variable_is_name(longest));
}

static void change(struct variables *v, const char *set, const char *unset)
{
	struct list sets = { 0 }, unsets = { 0 };
	struct err e;

	if (set)
		list_add(&sets, set);
	if (unset)
		list_add(&unsets, unset);
	assert_int_equal(variables_change(v, &sets, &unsets, &e), 0);
	list_done(&sets);
	list_done(&unsets);
}

static void test_the_last_change_counts(void **state)
{
	struct variables v = { 0 };
	struct list env = { 0 };

	(void)state;
	list_add(&env, "OLD=1");
	list_add(&env, "KEPT=k");
	list_add(&env, "GONE=g");
	change(&v, "NEW=a=b", "OLD");
	change(&v, "NEW=c", "GONE");
	change(&v, "OLD=2", "NONE");
	change(&v, "BOTH=x", "BOTH");
	change(&v, "EMPTY=", NULL);
	variables_apply(&v, &env);
	assert_string_equal(list_get_env(&env, "OLD"), "2");
	assert_string_equal(list_get_env(&env, "KEPT"), "k");
	assert_string_equal(list_get_env(&env, "NEW"), "c");
	assert_string_equal(list_get_env(&env, "BOTH"), "x");
	assert_string_equal(list_get_env(&env, "EMPTY"), "");
	assert_null(list_get_env(&env, "GONE"));
	assert_null(list_get_env(&env, "NONE"));
	assert_int_equal(env.count, 5);
	assert_int_equal(v.count, 6);
	assert_int_equal(v.bytes, strlen("NEWc" "OLD2" "GONE" "NONE" "BOTHx" "EMPTY"));
	assert_int_equal(v.number, 9);
	list_done(&env);
	variables_done(&v);
	variables_done(NULL);
}

static void refuse(struct variables *v, const char *name, const char *value)
{
	const struct variables before = *v;
	struct err e;

	assert_int_equal(variables_set(v, name, value, &e), -1);
	assert_memory_equal(v, &before, sizeof(before));
}

static void test_all_or_nothing(void **state)
{
	struct variables v = { 0 };
	struct list set = { 0 }, none = { 0 };
	struct err e;

	(void)state;
	change(&v, "A=1", NULL);
	list_add(&set, "A=2");
	list_add(&set, "B C=3");
	assert_int_equal(variables_change(&v, &set, &none, &e), -1);
	assert_string_equal(e.text,
			    "'B C' is no name for a variable: " VARIABLE_NAME_RULE);
	list_done(&set);
	list_add(&set, "A");
	assert_int_equal(variables_change(&v, &set, &none, &e), -1);
	assert_int_equal(v.count, 1);
	assert_string_equal(v.all[0].value, "1");
	list_done(&set);
	variables_done(&v);
}

/* execve(2) bounds the length of NAME=value with its final 0. */
static void test_the_longest_value_that_a_program_can_be_started_with(void **state)
{
	struct variables v = { 0 };
	char *value = mem_zeroed(1, VARIABLE_MAX + 1);
	struct err e;

	(void)state;
	memset(value, 'x', VARIABLE_MAX - 3);
	assert_int_equal(variables_set(&v, "A", value, &e), 0);
	assert_int_equal(v.bytes, 1 + VARIABLE_MAX - 3);
	value[VARIABLE_MAX - 3] = 'x';
	refuse(&v, "A", value);
	assert_int_equal(v.bytes, 1 + VARIABLE_MAX - 3);
	free(value);
	variables_done(&v);
}

static void test_there_are_only_so_many(void **state)
{
	struct variables v = { 0 };
	struct err e;

	(void)state;
	for (int i = 0; i < VARIABLES_MAX; i++) {
		AUTO_FREE char *name = text_format("V%d", i);
		assert_int_equal(variables_set(&v, name, i % 2 ? "" : NULL, &e), 0);
	}
	refuse(&v, "W", NULL);
	assert_int_equal(variables_set(&v, "V0", "again", &e), 0);
	variables_done(&v);
}

static void test_and_so_much_of_them(void **state)
{
	struct variables v = { 0 };
	char *value = mem_zeroed(1, 65536);
	struct err e;

	(void)state;
	memset(value, 'x', 65535);
	/* Each takes 65,536 bytes with its name of one byte. */
	for (int i = 0; i < 16; i++)
		assert_int_equal(
			variables_set(&v, (char[]){ (char)('A' + i), 0 }, value, &e), 0);
	assert_int_equal(v.bytes, VARIABLES_BYTES);
	refuse(&v, "Z", "");
	assert_int_equal(variables_set(&v, "A", NULL, &e), 0);
	assert_int_equal(variables_set(&v, "Z", "", &e), 0);
	free(value);
	variables_done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_shells),
		cmocka_unit_test(test_the_last_change_counts),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(
			test_the_longest_value_that_a_program_can_be_started_with),
		cmocka_unit_test(test_there_are_only_so_many),
		cmocka_unit_test(test_and_so_much_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
