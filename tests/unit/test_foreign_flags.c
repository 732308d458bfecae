#include "cli/common/foreign_flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void test_flags_of_other_tools_are_known(void **state)
{
	static const struct {
		const char *verb, *name, *says, *remedy;
	} rows[] = {
		{ "run", "ro-bind", "hutch run has no --ro-bind", "-v SRC:DST:ro" },
		{ "act", "ro-bind-try", "hutch act has no --ro-bind-try", "-v SRC:DST:ro" },
		{ "run", "unshare-net", "hutch run has no --unshare-net", "leave it out" },
		{ "run", "P", "hutch run has no -P", "-p auto:GUEST" },
		{ "run", "gpus", "hutch gives a sandbox no GPU", NULL },
		{ "kill", "signal", "hutch kill has no --signal", "hutch exec" },
		{ "kill", "9", "hutch kill has no -9", "leave it out" },
		{ "kill", "ro-bind", NULL, NULL },
		{ "run", "signal", NULL, NULL },
		{ "run", "ro-bin", NULL, NULL },
		{ "run", "unshare", NULL, NULL },
		{ "run", "", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		bool is_known = foreign_flags_explain(rows[i].verb, rows[i].name,
						      strlen(rows[i].name), &e);
		if (is_known != (rows[i].says != NULL))
			fail_msg("%s --%s", rows[i].verb, rows[i].name);
		if (is_known && !strstr(e.text, rows[i].says))
			fail_msg("'%s' says: %s", rows[i].name, e.text);
		if (rows[i].remedy && !strstr(e.remedy, rows[i].remedy))
			fail_msg("'%s' hints: %s", rows[i].name, e.remedy);
	}
}

static void test_a_remedy_is_added_to_another_error(void **state)
{
	struct err e = { 0 };

	(void)state;
	(void)err_set(&e, ERR_USAGE, "--volume is no flag of hutch exec");
	assert_int_equal(foreign_flags_remedy("exec", "volume", 6, &e), -1);
	assert_string_equal(e.text, "--volume is no flag of hutch exec");
	assert_non_null(strstr(e.remedy, "hutch cp"));
	assert_int_equal(foreign_flags_remedy("exec", "volumes", 7, NULL), -1);
}

static void test_a_dash_of_typography_is_told(void **state)
{
	static const struct {
		const char *word, *remedy; /* NULL: the word has no such dash */
	} rows[] = {
		{ "\u2014json", "type it: --json" },   { "\u2013json", "type it: --json" },
		{ "\u2212t", "type it: -t" },	       { "\u2010-json", "type it: --json" },
		{ "\u2014\u2014json", "type it: --json" }, { "-json", NULL },
		{ "\u2026", NULL },		       { "\xe2\x80", NULL },
		{ "\xe2", NULL },		       { "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		int result = foreign_flags_check_dash(rows[i].word, &e);
		assert_int_equal(result, rows[i].remedy ? -1 : 0);
		assert_string_equal(e.remedy, rows[i].remedy ? rows[i].remedy : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_of_other_tools_are_known),
		cmocka_unit_test(test_a_remedy_is_added_to_another_error),
		cmocka_unit_test(test_a_dash_of_typography_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
