/* egress_presets: each list has a date, sources, and exact names in order. */
#include "policy/egress/egress_presets.h"

#include <stdio.h>

#include "tests/unit/egress.h"

static const char *const promised[] = { "pypi",	  "npm",	"crates", "golang",
					"debian", "github",	"docker", "anthropic",
					"openai", "huggingface" };

static bool is_date(const char *text)
{
	unsigned int year, month, day;
	int end = 0;

	return sscanf(text, "%4u-%2u-%2u%n", &year, &month, &day, &end) == 3 &&
	       end == 10 && !text[10] && year >= 2026 && month >= 1 && month <= 12 &&
	       day >= 1 && day <= 31;
}

static void test_each_preset_is_a_dated_list_of_exact_names(void **state)
{
	size_t count = 0;

	(void)state;
	for (const char *const *name = egress_presets(); *name; name++, count++) {
		struct list targets = { 0 };
		struct err e;
		AUTO_FREE char *about = egress_preset_about(*name);
		AUTO_FREE char *date = egress_preset_date(*name);
		assert_true(about && *about);
		if (!date || !is_date(date))
			fail_msg("@%s: the date is %s", *name, date ? date : "missing");
		if (egress_preset_targets(*name, &targets, &e) < 0)
			fail_msg("@%s: %s", *name, e.text);
		assert_true(targets.count > 0);
		for (size_t i = 0; i < targets.count; i++) {
			struct egress_rule r;
			if (egress_rule_parse(&r, EGRESS_ALLOW, targets.items[i], &e) < 0)
				fail_msg("@%s: %s", *name, e.text);
			if (r.kind != EGRESS_NAME ||
			    strcmp(r.name.text, targets.items[i]) != 0)
				fail_msg("@%s: %s is no exact name", *name,
					 targets.items[i]);
			if (i && strcmp(targets.items[i - 1], targets.items[i]) >= 0)
				fail_msg("@%s: %s is out of order", *name,
					 targets.items[i]);
			egress_rule_done(&r);
		}
		list_done(&targets);
	}
	assert_true(count >= ARRAY_LEN(promised));
}

static void test_those_that_are_promised(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(promised); i++) {
		AUTO_FREE char *about = egress_preset_about(promised[i]);
		if (!about)
			fail_msg("@%s is missing", promised[i]);
	}
}

static void test_an_unknown_preset(void **state)
{
	static const char *const names[] = { "",	  "PyPI",    "pypi ",
					     "pypi.json", "../pypi", "host" };
	struct list targets = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(egress_preset_targets(names[i], &targets, &e), -1);
		assert_int_equal(e.kind, ERR_NOT_FOUND);
		assert_null(egress_preset_about(names[i]));
		assert_null(egress_preset_date(names[i]));
	}
	assert_int_equal(targets.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_preset_is_a_dated_list_of_exact_names),
		cmocka_unit_test(test_those_that_are_promised),
		cmocka_unit_test(test_an_unknown_preset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
