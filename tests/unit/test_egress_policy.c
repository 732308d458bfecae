/* egress_policy: rules about connections in flags and in policy files. */
#include "policy/egress_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/policy_file.h"

/* Reads a policy file with the text. */
static int read_text(struct policy_file *s, const char *text, struct err *e)
{
	char path[] = "/tmp/test_egress_policy.XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	const size_t len = strlen(text);

	*s = (struct policy_file){ 0 };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	int result = policy_file_read(s, path, e);
	assert_int_equal(unlink(path), 0);
	return result;
}

static void test_rules_of_files_are_printed_again(void **state)
{
	struct policy_file s;
	struct err e;

	(void)state;
	assert_int_equal(
		read_text(&s,
			  "{\"version\":1,\"network\":\"none\",\"egress\":"
			  "{\"default\":\"deny\",\"rules\":[{\"allow\":\"@pypi\"},"
			  "{\"deny\":\"a.org\",\"why\":\"no\"},{\"ask\":\"*\"}]},"
			  "\"limits\":{\"pids\":7}}",
			  &e),
		0);
	assert_int_equal(policy_file_say(&s, "allow", "b.org:22", ".", &e), 0);
	assert_int_equal(policy_file_say(&s, "deny", "c.org=not here", ".", &e), 0);
	assert_int_equal(policy_file_say(&s, "ask", "d.org", ".", &e), 0);
	AUTO_FREE char *text = settings_print(&s);
	assert_string_equal(
		text, "{\"version\":1,\"network\":\"none\",\"egress\":{\"rules\":["
		      "{\"allow\":\"@pypi\"},{\"deny\":\"a.org\",\"why\":\"no\"},"
		      "{\"ask\":\"*\"},{\"allow\":\"b.org:22\"},"
		      "{\"deny\":\"c.org\",\"why\":\"not here\"},{\"ask\":\"d.org\"}]},"
		      "\"limits\":{\"pids\":\"7\"}}");
	policy_file_done(&s);
}

static void test_files_that_are_wrong(void **state)
{
	static const struct {
		const char *egress, *says;
	} rows[] = {
		{ "{\"rules\":[{\"allow\":\"a.org\"},{\"allow\":\"a.org:0\"}]}",
		  "policy.egress.rules[1]: '0' is no port" },
		{ "{\"rules\":[{\"allow\":\"a.org:0\"}]}", "no port" },
		{ "{\"rules\":[{\"alow\":\"a.org\"}]}", "alow" },
		{ "{\"rules\":[\"a.org\"]}", "policy.egress.rules[0]" },
		{ "{\"rules\":{\"allow\":\"a.org\"}}", "policy.egress.rules" },
		{ "{\"rules\":[{\"allow\":\"a.org\",\"http\":{}}]}", "method and path" },
		{ "{\"rules\":[{\"allow\":\"@pypy\"}]}", "is it @pypi?" },
		{ "{\"default\":\"allow\"}", "policy.egress.default: 'deny'" },
		{ "{\"default\":7}", "policy.egress.default" },
		{ "{\"defaults\":\"deny\"}", "unknown key 'defaults'" },
		{ "[]", "policy.egress" },
	};
	struct policy_file s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[300];
		(void)snprintf(text, sizeof(text), "{\"version\":1,\"egress\":%s}",
			       rows[i].egress);
		if (read_text(&s, text, &e) == 0)
			fail_msg("%s was taken", text);
		if (!strstr(e.text, rows[i].says))
			fail_msg("%s: %s", text, e.text);
		policy_file_done(&s);
	}
}

static void test_rules_are_for_a_network_of_rules(void **state)
{
	static const struct {
		enum network network;
		const char *rule;
		enum err_kind kind; /* ERR_NONE: it is accepted */
	} rows[] = {
		{ NETWORK_NONE, NULL, ERR_NONE },
		{ NETWORK_ALLOW, NULL, ERR_NONE },
		{ NETWORK_ALLOW, "b.org", ERR_NONE },
		{ NETWORK_ALLOW, "{\"deny\":\"b.org:*\"}", ERR_NONE },
		{ NETWORK_NONE, "b.org", ERR_USAGE },
		{ NETWORK_HOST, "b.org", ERR_USAGE },
		{ NETWORK_ALLOW, "b.org:*", ERR_NONE },
		{ NETWORK_ALLOW, "{\"ask\":\"*:*\"}", ERR_NONE },
		{ NETWORK_ALLOW, "b.org:1-65", ERR_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy p;
		struct err e = { .kind = ERR_NONE };
		policy_init(&p);
		if (rows[i].rule)
			(void)egress_policy_add(&p, EGRESS_ALLOW, rows[i].rule, &e);
		p.network = rows[i].network;
		if (e.kind == ERR_NONE)
			(void)egress_policy_check(&p, &e);
		if (e.kind != (int)rows[i].kind)
			fail_msg("row %zu: %d: %s", i, (int)e.kind, e.text);
		policy_done(&p);
	}
}

static void test_rules_are_bounded_together(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "b.org:1-64", &e), 0);
	assert_false(p.egress_rules.has_all_ports);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "c.org:65", &e), 0);
	assert_true(p.egress_rules.has_all_ports);
	while (p.egress_rules.count < EGRESS_RULES_MAX)
		assert_int_equal(egress_policy_add(&p, EGRESS_DENY, "d.org", &e), 0);
	assert_int_equal(egress_policy_check(&p, &e), 0);
	assert_int_equal(egress_policy_add(&p, EGRESS_DENY, "d.org", &e), -1);
	assert_string_equal(e.text, "there are more than 1024 rules (from --deny d.org)");
	assert_int_equal(p.egress.count, EGRESS_RULES_MAX);
	policy_done(&p);
}

static void test_a_rule_is_said_as_its_flag(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"allow\":\"b.org\"}", "--allow b.org" },
		{ "{\"allow\":\"@pypi\"}", "--allow @pypi" },
		{ "{\"ask\":\"b.org:1\"}", "--ask b.org:1" },
		{ "{\"deny\":\"b.org\"}", "--deny b.org" },
		{ "{\"allow\":\"b.org\",\"tls\":\"any\"}",
		  "{\"allow\":\"b.org\",\"tls\":\"any\"}" },
		{ "{\"allow\":\"\"}", "{\"allow\":\"\"}" },
		{ "{\"deny\":\"b.org\",\"why\":\"not here\"}", "--deny b.org=not here" },
		{ "{\"allow\":\"b.org\",\"why\":\"x\"}",
		  "{\"allow\":\"b.org\",\"why\":\"x\"}" },
		{ "{\n\t\"deny\": \"b.org\"\r\n}", "{  \"deny\": \"b.org\"  }" },
		{ "{}", "{}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *line = egress_policy_line(rows[i][0]);
		assert_string_equal(line, rows[i][1]);
	}
}

static void test_flags_are_rules_in_order(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(egress_policy_check(&p, &e), 0);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "a.org:0", &e), -1);
	assert_non_null(strstr(e.text, "(from --allow a.org:0)"));
	assert_int_equal(p.egress.count, 0);
	assert_int_equal(p.network, NETWORK_NONE);
	assert_int_equal(egress_policy_add(&p, EGRESS_DENY, "b.org=not \"here\"", &e), 0);
	assert_int_equal(p.network, NETWORK_ALLOW);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "a.org", &e), 0);
	assert_int_equal(egress_policy_add(&p, EGRESS_ASK, "c.org:1", &e), 0);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "{\"deny\":\"d.org\"}", &e),
			 0);
	assert_string_equal(p.egress.items[0],
			    "{\"deny\":\"b.org\",\"why\":\"not \\\"here\\\"\"}");
	assert_string_equal(p.egress.items[1], "{\"allow\":\"a.org\"}");
	assert_string_equal(p.egress.items[2], "{\"ask\":\"c.org:1\"}");
	assert_string_equal(p.egress.items[3], "{\"deny\":\"d.org\"}");
	assert_int_equal(egress_policy_check(&p, &e), 0);
	assert_int_equal(
		egress_policy_add(&p, EGRESS_ALLOW, "{\"allow\":\r\n\t\"a.org\"}", &e), 0);
	assert_string_equal(p.egress.items[4], "{\"allow\":   \"a.org\"}");
	/* each of them was read as well; the one that is refused was not */
	assert_int_equal(p.egress_rules.count, 5);
	assert_int_equal(p.egress_rules.items[0].verdict, EGRESS_DENY);
	assert_string_equal(p.egress_rules.items[0].why, "not \"here\"");
	assert_string_equal(p.egress_rules.items[1].text, "a.org");
	assert_string_equal(p.egress_rules.items[2].text, "c.org:1");
	assert_int_equal(p.egress_rules.items[3].verdict, EGRESS_DENY);
	assert_string_equal(p.egress_rules.items[4].text, "a.org");
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_of_files_are_printed_again),
		cmocka_unit_test(test_files_that_are_wrong),
		cmocka_unit_test(test_rules_are_for_a_network_of_rules),
		cmocka_unit_test(test_rules_are_bounded_together),
		cmocka_unit_test(test_a_rule_is_said_as_its_flag),
		cmocka_unit_test(test_flags_are_rules_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
