/* verdict: rules, a destination, and the addresses that its name has led to; each row
 * says what becomes of it.  No address is asked for: the host's own are 8.8.4.4 and
 * 2600::1. */
#include "egress/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

static enum host_addresses_answer is_own(void *context, const struct address *a)
{
	char text[ADDRESS_TEXT_MAX];

	(void)context;
	(void)address_print(a, text);
	if (!strcmp(text, "8.8.8.9"))
		return HOST_ADDRESSES_UNKNOWN;
	return !strcmp(text, "8.8.4.4") || !strcmp(text, "2600::1")
		       ? HOST_ADDRESSES_OWN
		       : HOST_ADDRESSES_OTHER;
}

static struct egress_rules rules_of(const char *text)
{
	struct egress_rules r = { 0 };
	char copy[256], *rest = NULL;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		struct egress_word word = { .verdict = EGRESS_ALLOW, .target = w + 1 };
		struct err e;

		word.verdict = *w == '+'   ? EGRESS_ALLOW
			       : *w == '?' ? EGRESS_ASK
					   : EGRESS_DENY;
		if (egress_rules_add(&r, &word, &e) < 0)
			fail_msg("%s: %s", w, e.text);
	}
	return r;
}

static struct address address_of(const char *text)
{
	struct address a;

	assert_true(address_parse(text, strlen(text), &a));
	return a;
}

static struct goal goal_of(const char *text, uint16_t port)
{
	struct goal g = { .port = port };

	if (!address_parse(text, strlen(text), &g.address))
		assert_int_equal(host_name_read(&g.name, text, strlen(text)),
				 HOST_NAME_GOOD);
	return g;
}

/* --- destinations ------------------------------------------------------------------- */

static const struct {
	const char *rules, *goal;
	uint16_t port;
	enum egress_verdict says;
	enum reason reason;
} goals[] = {
	{ "+a.org", "a.org", 443, EGRESS_ALLOW, REASON_NONE },
	{ "+a.org", "a.org", 22, EGRESS_DENY, REASON_PORT },
	{ "+a.org", "b.org", 443, EGRESS_DENY, REASON_NO_RULE },
	{ "-a.org +*", "a.org", 443, EGRESS_DENY, REASON_RULE },
	{ "?*.org", "a.org", 443, EGRESS_ASK, REASON_NONE },
	{ "+a.org", "1.1.1.1", 443, EGRESS_DENY, REASON_NO_NAME },
	{ "+1.1.1.1", "1.1.1.1", 443, EGRESS_ALLOW, REASON_NONE },
	{ "+@host:8080", "host.hutch.internal", 8080, EGRESS_ALLOW, REASON_NONE },
	{ "+@host:8080", "host.hutch.internal", 81, EGRESS_DENY, REASON_PORT },
};

static void test_goals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(goals); i++) {
		struct egress_rules rules = rules_of(goals[i].rules);
		struct goal g = goal_of(goals[i].goal, goals[i].port);
		struct verdict v;

		verdict_of(&rules, &g, &v);
		if (v.says != goals[i].says || v.reason != goals[i].reason)
			fail_msg("%s to %s:%d: verdict %d, %s", goals[i].rules,
				 goals[i].goal, goals[i].port, (int)v.says,
				 reason_word(v.reason));
		if (v.says == EGRESS_ALLOW)
			assert_int_equal(verdict_is_loopback(&rules, &v),
					 !strncmp(goals[i].rules, "+@host", 6));
		egress_rules_done(&rules);
	}
}

/* --- addresses ---------------------------------------------------------------------- */

static const struct {
	const char *rules, *goal, *address;
	enum reason reason;
} addresses[] = {
	{ "+a.org", "a.org", "1.1.1.1", REASON_NONE },
	{ "+a.org", "a.org", "2606:4700::1111", REASON_NONE },
	{ "+a.org", "a.org", "10.0.0.1", REASON_PRIVATE_ADDRESS },
	{ "+a.org", "a.org", "127.0.0.1", REASON_PRIVATE_ADDRESS },
	{ "+a.org", "a.org", "::1", REASON_PRIVATE_ADDRESS },
	{ "+a.org", "a.org", "::ffff:10.0.0.1", REASON_PRIVATE_ADDRESS },
	{ "+a.org", "a.org", "64:ff9b::10.0.0.1", REASON_PRIVATE_ADDRESS },
	{ "+a.org", "a.org", "169.254.169.254", REASON_METADATA },
	{ "+a.org", "a.org", "2002:a9fe:a9fe::1", REASON_METADATA },
	{ "+a.org +10.0.0.0/8", "a.org", "10.0.0.1", REASON_NONE },
	{ "+a.org", "a.org", "8.8.4.4", REASON_HOST_ADDRESS },
	{ "+a.org", "a.org", "2600::1", REASON_HOST_ADDRESS },
	{ "+a.org", "a.org", "64:ff9b::8.8.4.4", REASON_HOST_ADDRESS },
	{ "+a.org", "a.org", "8.8.8.9", REASON_HOST_ADDRESS },
	{ "+a.org +8.8.0.0/16", "a.org", "8.8.4.4", REASON_HOST_ADDRESS },
	{ "+a.org +8.8.4.4", "a.org", "8.8.4.4", REASON_NONE },
	{ "+8.8.4.4", "8.8.4.4", "8.8.4.4", REASON_NONE },
	{ "+8.8.0.0/16", "8.8.4.4", "8.8.4.4", REASON_HOST_ADDRESS },
	{ "+8.8.0.0/16", "8.8.4.5", "8.8.4.5", REASON_NONE },
};

static void test_addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct egress_rules rules = rules_of(addresses[i].rules);
		struct goal g = goal_of(addresses[i].goal, 443);
		struct address a = address_of(addresses[i].address);
		enum reason reason = verdict_address(&rules, &g, &a, is_own, NULL);

		if (reason != addresses[i].reason)
			fail_msg("%s: %s to %s: %s", addresses[i].rules,
				 addresses[i].goal, addresses[i].address,
				 reason_word(reason));
		egress_rules_done(&rules);
	}
}

static void test_refused_addresses_are_left_out(void **state)
{
	struct egress_rules rules = rules_of("+a.org");
	struct goal g = goal_of("a.org", 443);
	struct resolved r = { .status = RESOLVED_FOUND };
	enum reason reason = REASON_NONE;
	const struct address given[] = { address_of("10.0.0.1"), address_of("1.1.1.1"),
					 address_of("8.8.4.4"), address_of("9.9.9.9") };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		resolved_add(&r, &given[i]);
	assert_int_equal(verdict_choose(&rules, &g, &r, is_own, NULL, &reason), 2);
	assert_true(address_is_equal(&r.addresses[0], &given[1]));
	assert_true(address_is_equal(&r.addresses[1], &given[3]));
	r.addresses[0] = given[2];
	r.count = 1;
	assert_int_equal(verdict_choose(&rules, &g, &r, is_own, NULL, &reason), 0);
	assert_int_equal(reason, REASON_HOST_ADDRESS);
	egress_rules_done(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goals),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_refused_addresses_are_left_out),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
