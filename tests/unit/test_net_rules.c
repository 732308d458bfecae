/* net_rules: rules as clients send them, and lists of rules that become others. */
#include "supervisor/net_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/json/json.h"

static char *read_text(const char *text, struct err *e)
{
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), e);
	struct json_at root;

	json_root(doc, "rule", &root);
	return doc ? net_rules_read(&root, e) : NULL;
}

static void rules_get_one_form(void **state)
{
	static const struct {
		const char *text, *form; /* NULL: it is refused */
	} rows[] = {
		{ "{\"allow\":\"a.org\"}", "{\"allow\":\"a.org\"}" },
		{ " { \"why\" : \"x\\u0079\", \"deny\":\"a\\u002eorg\" }",
		  "{\"deny\":\"a.org\",\"why\":\"xy\"}" },
		{ "{\"tls\":\"any\",\"ask\":\"*\"}", "{\"ask\":\"*\",\"tls\":\"any\"}" },
		{ "{\"allow\":\"@pypi\",\"why\":null}", "{\"allow\":\"@pypi\"}" },
		{ "\"a.org\"", NULL },
		{ "{\"allow\":\"a b\"}", NULL },
		{ "{\"allow\":\"@nonesuch\"}", NULL },
		{ "{\"allow\":\"a.org\",\"x\":1}", NULL },
		{ "{}", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		AUTO_FREE char *form = read_text(rows[i].text, &e);
		if (rows[i].form)
			assert_string_equal(form, rows[i].form);
		else
			assert_null(form);
		assert_int_equal(e.kind != ERR_NONE, !rows[i].form);
	}
}

static void fill(struct list *l, const char *targets)
{
	for (const char *at = targets; *at; at++)
		list_addf(l, "{\"%s\":\"%c.org\"}", *at < 'a' ? "deny" : "allow", *at);
}

/* Returns the first letters of the targets. */
static char *letters(const struct list *l)
{
	char *ret = text_copy("");

	for (size_t i = 0; i < l->count; i++) {
		AUTO_FREE char *before = ret;
		ret = text_format("%s%c", before, strstr(l->items[i], ".org")[-1]);
	}
	return ret;
}

static void a_rule_gets_its_number(void **state)
{
	static const struct {
		const char *rules;
		size_t at;
		const char *after; /* NULL: it is refused */
	} rows[] = {
		{ "", 1, "x" },	      { "", 2, NULL },	    { "", 0, NULL },
		{ "abc", 1, "xabc" }, { "abc", 2, "axbc" }, { "abc", 3, "abxc" },
		{ "abc", 4, "abcx" }, { "abc", 5, NULL },   { "abc", SIZE_MAX, NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct list rules = { 0 }, after = { 0 };
		struct err e = { 0 };
		fill(&rules, rows[i].rules);
		int result = net_rules_insert(&rules, rows[i].at, "{\"ask\":\"x.org\"}",
					      &after, &e);
		AUTO_FREE char *got = letters(&after);
		assert_int_equal(result, rows[i].after ? 0 : -1);
		assert_string_equal(got, rows[i].after ? rows[i].after : "");
		list_done(&rules);
		list_done(&after);
	}
}

static void a_rule_is_found_by_its_target_and_removed(void **state)
{
	struct list rules = { 0 }, after = { 0 };

	(void)state;
	fill(&rules, "abAc");
	assert_int_equal(net_rules_find(&rules, "c.org"), 4);
	assert_int_equal(net_rules_find(&rules, "A.ORG"), 1);
	assert_int_equal(net_rules_find(&rules, "d.org"), 0);
	assert_int_equal(net_rules_find(&rules, ""), 0);
	net_rules_remove(&rules, 2, &after);
	AUTO_FREE char *left = letters(&after);
	assert_string_equal(left, "aAc");
	assert_int_equal(rules.count, 4);
	AUTO_FREE char *json = net_rules_json(&after);
	assert_string_equal(json, "[{\"allow\":\"a.org\"},{\"deny\":\"A.org\"},"
				  "{\"allow\":\"c.org\"}]");
	list_done(&after);
	AUTO_FREE char *none = net_rules_json(&after);
	assert_string_equal(none, "[]");
	list_done(&rules);
}

static void all_rules_are_parsed_together(void **state)
{
	struct egress_rules r = { 0 };
	struct list rules = { 0 };
	struct err e = { 0 };

	(void)state;
	for (unsigned i = 0; i <= EGRESS_RULES_MAX; i++)
		list_addf(&rules, "{\"allow\":\"a.org:%u\"}", 1000 + i);
	assert_int_equal(net_rules_parse(&rules, &r, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	egress_rules_done(&r);
	list_done(&rules);
	list_add(&rules, "{\"allow\":\"@pypi\"}");
	assert_int_equal(net_rules_parse(&rules, &r, &e), 0);
	assert_true(r.count > 1);
	egress_rules_done(&r);
	list_done(&rules);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_get_one_form),
		cmocka_unit_test(a_rule_gets_its_number),
		cmocka_unit_test(a_rule_is_found_by_its_target_and_removed),
		cmocka_unit_test(all_rules_are_parsed_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
