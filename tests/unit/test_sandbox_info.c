/* sandbox_info: reads the settings of a session from the variables of its
 * environment. */
#include "actions/sandbox_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"

static double soft(const char *variable)
{
	static const struct policy policy;
	struct launch l = { .policy = &policy };

	if (variable)
		list_set_env(&l.plan.env, variable);
	double seconds = sandbox_info_of(&l).soft_s;
	list_done(&l.plan.env);
	return seconds;
}

static void test_the_soft_time_out(void **state)
{
	static const struct {
		const char *variable;
		double seconds;
	} rows[] = {
		{ NULL, 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=1", 1 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=30", 30 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=0.5", 0.5 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=1e6", 1e6 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=0", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=-1", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=2000000", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=inf", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=nan", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=1s", 10 },
		{ "NO_CHANGE_TIMEOUT_SECONDS=soon", 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (soft(rows[i].variable) != rows[i].seconds)
			fail_msg("%s is %g", rows[i].variable, soft(rows[i].variable));
}

static void test_edits_are_linted_where_the_policy_says_so(void **state)
{
	const struct policy policy = { .lints = true }, other = { 0 };
	struct launch l = { .policy = &policy };

	(void)state;
	assert_true(sandbox_info_of(&l).lints);
	l.policy = &other;
	assert_false(sandbox_info_of(&l).lints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_soft_time_out),
		cmocka_unit_test(test_edits_are_linted_where_the_policy_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
