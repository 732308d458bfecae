/* env_args: the variables of --env and of a file, row by row. */
#include "apptainer/env_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

struct row {
	const char *text, *env; /* the variables with | between them */
};

static const struct row flags[] = {
	{ "A=1", "A=1" },
	{ "A=", "A=" },
	{ "A=1,B=2", "A=1|B=2" },
	{ "A=1,A=2", "A=2" },
	{ "A=x,y", "A=x,y" },
	{ "A=x=1,y,B_2=z", "A=x=1,y|B_2=z" },
	{ "A=--color,5=x,B=,", "A=--color,5=x|B=," },
	{ "A", "error" },
	{ "=1", "error" },
	{ "1A=2", "error" },
	{ "A-B=2", "error" },
	{ "", "error" },
};

static const struct row files[] = {
	{ "", "" },
	{ "# A=1\n\n", "" },
	{ "A=1\nB=2", "A=1|B=2" },
	{ "export A=1; B=2 # three\n", "A=1|B=2" },
	{ "A='x y' B=\"p q\"\n", "A=x y|B=p q" },
	{ "A='it'\"'\"'s'\n", "A=it's" },
	{ "A='$HOME `x`'", "A=$HOME `x`" },
	{ "A=\"\\$x \\n\"", "A=$x \\n" },
	{ "A='1\n2'\nB=", "A=1\n2|B=" },
	{ "A=a\\ b", "A=a b" },
	{ "A=$B", "error" },
	{ "A=\"`id`\"", "error" },
	{ "A='1", "error" },
	{ "A=\"1", "error" },
	{ "A=\"1\\", "error" },
	{ "rm -rf /", "error" },
	{ "A=1 & B=2", "error" },
	{ "A=$(id)", "error" },
	{ "export A", "error" },
};

static void check(const struct row *row,
		  int (*read)(struct list *env, const char *text, struct err *e))
{
	struct list env = { 0 };
	struct err e = { 0 };

	int rc = read(&env, row->text, &e);
	AUTO_FREE char *got = rc < 0 ? text_copy("error") : list_join(&env, 0, "|");
	assert_string_equal(got, row->env);
	assert_true(rc == 0 || *e.text);
	list_done(&env);
}

static void test_flags(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		check(&flags[i], env_args_flag);
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		check(&files[i], env_args_text);
}

static void test_the_callers(void **state)
{
	struct list env = { 0 };

	(void)state;
	assert_int_equal(setenv("APPTAINERENV_HT_A", "1", 1), 0);
	assert_int_equal(setenv("SINGULARITYENV_HT_A", "2", 1), 0);
	assert_int_equal(setenv("SINGULARITYENV_HT_B", "3", 1), 0);
	assert_int_equal(setenv("HT_C", "4", 1), 0);
	env_args_caller(&env);
	assert_string_equal(list_get_env(&env, "HT_A"), "1");
	assert_string_equal(list_get_env(&env, "HT_B"), "3");
	assert_null(list_get_env(&env, "HT_C"));
	list_done(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_the_callers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
