/* sandbox_name: the names of sandboxes in networks, some of which come from inside. */
#include "policy/egress/sandbox_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool is_below;		       /* of a sandbox, if there is one */
		const char *sandbox, *network; /* NULL: it is read as no sandbox */
	} cases[] = {
		{ "pg.db-net.hutch.internal", true, "pg", "db-net" },
		{ LABEL_63 "." LABEL_63 ".hutch.internal", true, LABEL_63, LABEL_63 },
		{ "a" LABEL_63 ".net.hutch.internal", true, NULL, NULL },
		{ "pg.a" LABEL_63 ".hutch.internal", true, NULL, NULL },
		{ "host.net.hutch.internal", true, "host", "net" },
		{ "host.hutch.internal", false, NULL, NULL },
		{ "net.hutch.internal", true, NULL, NULL },
		{ "a.pg.net.hutch.internal", true, NULL, NULL },
		{ "hutch.internal", false, NULL, NULL },
		{ ".hutch.internal", false, NULL, NULL },
		{ "pg.net.hutch.internal.org", false, NULL, NULL },
		{ "pg.net.xhutch.internal", false, NULL, NULL },
		{ "pg", false, NULL, NULL },
		{ "", false, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_name got = { "untouched", "" };
		assert_int_equal(sandbox_name_is(cases[i].name), cases[i].is_below);
		assert_int_equal(sandbox_name_read(cases[i].name, &got),
				 cases[i].sandbox != NULL);
		assert_string_equal(got.sandbox,
				    cases[i].sandbox ? cases[i].sandbox : "untouched");
		assert_string_equal(got.network,
				    cases[i].network ? cases[i].network : "");
	}
}

static void test_labels(void **state)
{
	static const struct {
		const char *text;
		bool is_network, is_reachable;
	} cases[] = {
		{ "db-net", true, true },
		{ "a_1", true, true },
		{ "a2345678901234567890123456789012", true, true },
		{ "a23456789012345678901234567890123", false, true },
		{ LABEL_63, false, true },
		{ LABEL_63 "4", false, false },
		{ "", false, false },
		{ "-a", false, false },
		{ "a-", false, false },
		{ "A", false, false },
		{ "a.b", false, false },
		{ "a b", false, false },
		{ "a\n", false, false },
		{ "\303\274", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(sandbox_name_is_network(cases[i].text),
				 cases[i].is_network);
		assert_int_equal(sandbox_name_is_reachable(cases[i].text),
				 cases[i].is_reachable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
