/* extra_host: reads the argument of --add-host, and names the loopback in rules. */
#include "policy/extra_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"

static void test_words(void **state)
{
	static const struct {
		const char *word, *name, *address; /* address NULL: host-gateway */
	} rows[] = {
		{ "db:10.0.0.5", "db", "10.0.0.5" },
		{ "a.Example.org:10.0.0.5", "a.example.org", "10.0.0.5" },
		{ "a_b:127.0.0.1", "a_b", "127.0.0.1" },
		{ "db:fd00::7", "db", "fd00::7" },
		{ "db:[fd00::7]", "db", "fd00::7" },
		{ "db:host-gateway", "db", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[ADDRESS_TEXT_MAX];
		struct extra_host h;
		struct err e;
		if (extra_host_parse(rows[i].word, &h, &e) < 0)
			fail_msg("%s: %s", rows[i].word, e.text);
		assert_string_equal(h.name.text, rows[i].name);
		assert_int_equal(h.is_gateway, !rows[i].address);
		if (rows[i].address)
			assert_string_equal(address_print(&h.address, text),
					    rows[i].address);
	}
}

static void test_other_words_are_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"db",
		"db:",
		":10.0.0.5",
		"db:10.0.0",
		"db:x",
		"d b:1.2.3.4",
		"db:[fd00::7",
		"db=10.0.0.5",
		"db:host",
		"-:1.2.3.4",
		"1.2.3.4:db",
		"db:1.2.3.4\n",
		"db\n:1.2.3.4",
		"db:1.2.3.4 x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct extra_host h;
		struct err e;
		if (extra_host_parse(rows[i], &h, &e) == 0)
			fail_msg("'%s' is taken", rows[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_non_null(strstr(e.text, "--add-host takes"));
	}
}

/* Plays flags, and compares the rules. */
static void play(const char *const *flags, const char *const *rules)
{
	struct policy p;
	struct err e;
	size_t count = 0;

	policy_init(&p);
	for (; flags[0]; flags += 2) {
		int rc = !strcmp(flags[0], "host")
				 ? extra_host_add(&p, flags[1], &e)
				 : egress_policy_add(&p, EGRESS_ALLOW, flags[1], &e);
		if (rc < 0)
			fail_msg("%s: %s", flags[1], e.text);
	}
	for (; rules[count]; count++) {
		assert_true(count < p.egress.count);
		assert_string_equal(p.egress.items[count], rules[count]);
	}
	assert_int_equal(p.egress.count, count);
	assert_int_equal(extra_host_check(&p, &e), 0);
	policy_done(&p);
}

static void test_the_loopback_has_each_name(void **state)
{
	static const char *const rules[] = { "{\"allow\":\"@host:80\"}",
					     "{\"allow\":\"@host:80\",\"as\":\"a\"}",
					     "{\"allow\":\"@host:80\",\"as\":\"b\"}",
					     NULL };
	static const char *const others[] = { "{\"allow\":\"@host:80\"}", NULL };

	(void)state;
	play((const char *[]){ "host", "a:host-gateway", "host", "b:host-gateway",
			       "allow", "@host:80", NULL },
	     rules);
	play((const char *[]){ "allow", "@host:80", "host", "a:host-gateway", "host",
			       "b:host-gateway", NULL },
	     rules);
	play((const char *[]){ "host", "a:host-gateway", "allow", "@host:80", "host",
			       "b:host-gateway", NULL },
	     rules);
	/* a name with an address is none of the loopback */
	play((const char *[]){ "allow", "@host:80", "host", "a:1.2.3.4", NULL }, others);
	play((const char *[]){ "host", "a:1.2.3.4", "allow", "@host:80", NULL }, others);
}

/* Both lists of a policy's rules stay alike, which hutch-egress and the gate's ports rest
 * on. */
static void test_a_rule_with_a_name_of_its_own_gets_no_other(void **state)
{
	static const char rule[] =
		"{\"allow\":\"@host:80\",\"as\":\"host.hutch.internal\"}";
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, rule, &e), 0);
	assert_int_equal(extra_host_add(&p, "a:host-gateway", &e), 0);
	assert_int_equal(p.egress.count, 1);
	assert_int_equal(p.egress_rules.count, 1);
	assert_int_equal(extra_host_check(&p, &e), -1);
	policy_done(&p);
}

static void test_a_name_without_a_port_is_refused(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(extra_host_add(&p, "a:host-gateway", &e), 0);
	assert_int_equal(egress_policy_add(&p, EGRESS_ALLOW, "x.org", &e), 0);
	assert_int_equal(extra_host_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "no rule opens a port"));
	policy_done(&p);
}

static void test_there_is_a_bound(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	for (size_t i = 0; i < EXTRA_HOSTS_MAX; i++)
		assert_int_equal(extra_host_add(&p, "a:1.2.3.4", &e), 0);
	assert_int_equal(extra_host_add(&p, "a:1.2.3.4", &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(p.add_hosts.count, EXTRA_HOSTS_MAX);
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_other_words_are_refused),
		cmocka_unit_test(test_the_loopback_has_each_name),
		cmocka_unit_test(test_a_rule_with_a_name_of_its_own_gets_no_other),
		cmocka_unit_test(test_a_name_without_a_port_is_refused),
		cmocka_unit_test(test_there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
