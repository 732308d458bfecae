/* egress_rule: reads one rule, and says what is wrong with a text that is none. */
#include "policy/egress/egress_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void test_targets(void **state)
{
	static const struct {
		const char *text, *host; /* the name, or the network */
		enum egress_kind kind;
		uint16_t low, high;
	} rows[] = {
		{ "pypi.org", "pypi.org", EGRESS_NAME, 80, 443 },
		{ "PyPI.org.", "pypi.org", EGRESS_NAME, 80, 443 },
		{ "pypi.org:8443", "pypi.org", EGRESS_NAME, 8443, 8443 },
		{ "pypi.org:1", "pypi.org", EGRESS_NAME, 1, 1 },
		{ "pypi.org:65535", "pypi.org", EGRESS_NAME, 65535, 65535 },
		{ "pypi.org:8000-8010", "pypi.org", EGRESS_NAME, 8000, 8010 },
		{ "pypi.org:1-65535", "pypi.org", EGRESS_NAME, 1, 65535 },
		{ "pypi.org:80-80", "pypi.org", EGRESS_NAME, 80, 80 },
		{ "pypi.org:*", "pypi.org", EGRESS_NAME, 0, 65535 },
		{ "pypi.org.:443", "pypi.org", EGRESS_NAME, 443, 443 },
		{ "registry", "registry", EGRESS_NAME, 80, 443 },
		{ "registry:5000", "registry", EGRESS_NAME, 5000, 5000 },
		{ "vault.corp.internal:8200", "vault.corp.internal", EGRESS_NAME, 8200,
		  8200 },
		{ "*.pypi.org", "pypi.org", EGRESS_BELOW, 80, 443 },
		{ "*.pypi.org:*", "pypi.org", EGRESS_BELOW, 0, 65535 },
		{ "*.org:443", "org", EGRESS_BELOW, 443, 443 },
		{ "*", NULL, EGRESS_ANY, 80, 443 },
		{ "*:443", NULL, EGRESS_ANY, 443, 443 },
		{ "*:*", NULL, EGRESS_ANY, 0, 65535 },
		{ "*:8000-9000", NULL, EGRESS_ANY, 8000, 9000 },
		{ "10.1.2.3", "10.1.2.3", EGRESS_NETWORK, 80, 443 },
		{ "10.1.2.3:5432", "10.1.2.3", EGRESS_NETWORK, 5432, 5432 },
		{ "10.0.0.0/8", "10.0.0.0/8", EGRESS_NETWORK, 80, 443 },
		{ "10.0.0.0/8:5432", "10.0.0.0/8", EGRESS_NETWORK, 5432, 5432 },
		{ "10.0.0.0/8:*", "10.0.0.0/8", EGRESS_NETWORK, 0, 65535 },
		{ "0.0.0.0/0:53", "0.0.0.0/0", EGRESS_NETWORK, 53, 53 },
		{ "169.254.169.254:80", "169.254.169.254", EGRESS_NETWORK, 80, 80 },
		{ "fd00::7", "fd00::7", EGRESS_NETWORK, 80, 443 },
		{ "fd00::/64", "fd00::/64", EGRESS_NETWORK, 80, 443 },
		{ "[fd00::7]", "fd00::7", EGRESS_NETWORK, 80, 443 },
		{ "[fd00::7]:443", "fd00::7", EGRESS_NETWORK, 443, 443 },
		{ "[fd00::/64]:1-9", "fd00::/64", EGRESS_NETWORK, 1, 9 },
		{ "[::ffff:10.1.2.3]:80", "10.1.2.3", EGRESS_NETWORK, 80, 80 },
		{ "2001:db8::1:443", "2001:db8::1:443", EGRESS_NETWORK, 80, 443 },
		{ "@host:8080", EGRESS_HOST_NAME, EGRESS_LOOPBACK, 8080, 8080 },
		{ "@host:8080-8081", EGRESS_HOST_NAME, EGRESS_LOOPBACK, 8080, 8081 },
		{ "git@github.com:22", "github.com", EGRESS_NAME, 22, 22 },
	};
	char text[CIDR_TEXT_MAX];
	struct egress_rule r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (egress_rule_parse(&r, EGRESS_ALLOW, rows[i].text, &e) < 0)
			fail_msg("%s: %s", rows[i].text, e.text);
		const char *host = r.kind == EGRESS_ANY ? NULL
				   : r.kind == EGRESS_NETWORK
					   ? cidr_print(&r.network, text)
					   : r.name.text;
		assert_int_equal(r.kind, rows[i].kind);
		assert_string_equal(host ? host : "*", rows[i].host ? rows[i].host : "*");
		assert_int_equal(r.ports.low, rows[i].low);
		assert_int_equal(r.ports.high, rows[i].high);
		assert_int_equal(r.ports.is_web,
				 !strrchr(rows[i].text, ':') ||
					 (r.ports.low == 80 && r.ports.high == 443));
		assert_string_equal(r.text, rows[i].text);
		assert_int_equal(r.verdict, EGRESS_ALLOW);
		egress_rule_done(&r);
		egress_rule_done(&r);
	}
}

/* A door that is meant to be shut is shut at each port. */
static void test_a_denial_is_about_every_port(void **state)
{
	static const char *const rows[] = { "a.org",	 "*.a.org",  "*",
					    "10.1.2.3",	 "::1",	     "10.0.0.0/8",
					    "127.0.0.1", "fd00::/8", "@host",
					    "0.0.0.0/0" };
	struct egress_rule r;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (egress_rule_parse(&r, EGRESS_DENY, rows[i], &e) < 0)
			fail_msg("%s: %s", rows[i], e.text);
		assert_true(egress_ports_are_all(&r.ports));
		egress_rule_done(&r);
	}
	assert_int_equal(egress_rule_parse(&r, EGRESS_DENY, "a.org:25", &e), 0);
	assert_int_equal(r.ports.low, 25);
	assert_int_equal(r.ports.high, 25);
	egress_rule_done(&r);
	assert_int_equal(egress_rule_parse(&r, EGRESS_ASK, "a.org", &e), 0);
	assert_true(r.ports.is_web);
	egress_rule_done(&r);
}

static void test_texts_that_are_no_rules(void **state)
{
	static const struct {
		const char *text, *says, *remedy;
	} rows[] = {
		{ "", "names no host", "" },
		{ ":443", "is no name", "" },
		{ "a.org:", "no port", "HOST:443" },
		{ "a.org:0", "no port", "HOST:443" },
		{ "a.org:00", "no port", "" },
		{ "a.org:080", "no port", "" },
		{ "a.org:65536", "no port", "" },
		{ "a.org:99999999999", "no port", "" },
		{ "a.org:-1", "no port", "" },
		{ "a.org:+1", "no port", "" },
		{ "a.org: 80", "no port", "" },
		{ "a.org:80 ", "no port", "" },
		{ "a.org:https", "no port", "" },
		{ "a.org:80,443", "no port", "" },
		{ "a.org:80-", "no port", "" },
		{ "a.org:-80", "no port", "" },
		{ "a.org:80-79", "no range", "" },
		{ "a.org:80-90-100", "no port", "" },
		{ "a.org:**", "no port", "" },
		{ "a.org:*-80", "no port", "" },
		{ "a.org:123/udp", "TCP alone", "/udp" },
		{ "a.org:443/tcp", "TCP alone", "/tcp" },
		{ "a.org:80:80", "no address", "" },
		{ "a..org", "two dots", "" },
		{ ".org", "two dots", "" },
		{ "a_b.c-", "'-'", "" },
		{ "a b.org", "only letters", "" },
		{ " a.org", "only letters", "" },
		{ "a.org ", "only letters", "" },
		{ "a.org\n", "only letters", "" },
		{ "a.org\n:443", "only letters", "" },
		{ "m\xc3\xbcnchen.de", "xn--", "idn2" },
		{ "https://pypi.org/simple/", "web", "alone: pypi.org" },
		{ "http://pypi.org:8080?a", "web", "alone: pypi.org:8080" },
		{ "pypi.org/simple", "no address", "path" },
		{ "pypi.org/24", "no address", "networks" },
		{ "**", "'*' stands", "*.example.org" },
		{ "*.*", "'*' stands", "" },
		{ "*.", "'*' stands", "" },
		{ "*a.org", "'*' stands", "" },
		{ "*pypi.org", "'*' stands", "" },
		{ "a.*", "'*' stands", "" },
		{ "a.*.org", "'*' stands", "" },
		{ "**.org", "'*' stands", "" },
		{ "*.*.org", "'*' stands", "" },
		{ "*.10.1.2.3", "number", "" },
		{ "127.1", "number", "four decimal" },
		{ "0x7f.1", "number", "" },
		{ "0x7f000001", "number", "" },
		{ "0177.0.0.1", "number", "" },
		{ "2130706433", "number", "" },
		{ "2130706433:80", "number", "" },
		{ "10.1.2", "number", "" },
		{ "10.1.2.3.4", "number", "" },
		{ "10.1.2.256", "number", "" },
		{ "010.1.2.3", "number", "" },
		{ "10.1.2.3.", "number", "" },
		{ "10.1.2.3/8", "bits", "10.0.0.0/8" },
		{ "10.1.2.3/8:80", "bits", "10.0.0.0/8" },
		{ "[fd00::7/64]:80", "bits", "fd00::/64" },
		{ "10.0.0.0/33", "length", "" },
		{ "10.0.0.0/-1", "length", "" },
		{ "10.0.0.0/8/8", "length", "" },
		{ "fd00::/129", "length", "" },
		{ "[10.1.2.3]:80", "brackets", "" },
		{ "[a.org]:80", "brackets", "" },
		{ "[]:80", "brackets", "" },
		{ "[::1", "no [ADDRESS]:PORT", "" },
		{ "[fd00::7]80", "no [ADDRESS]:PORT", "" },
		{ "[fd00::7]:", "no port", "" },
		{ "[fe80::1%eth0]:80", "no address", "" },
		{ "fe80::1%eth0", "no address", "" },
		{ "::g", "no address", "" },
		{ "127.0.0.1:80", "closed", "@host:PORT" },
		{ "127.0.0.0/8", "closed", "@host:PORT" },
		{ "[::1]:80", "closed", "@host:PORT" },
		{ "::ffff:127.0.0.1", "closed", "@host:PORT" },
		{ "0.0.0.0", "closed", "" },
		{ "0.0.0.0/8", "closed", "" },
		{ "224.0.0.1", "closed", "" },
		{ "255.255.255.255", "closed", "" },
		{ "198.18.0.1", "closed", "" },
		{ "fe80::1", "closed", "" },
		{ "ff02::1", "closed", "" },
		{ "::", "closed", "" },
		{ "@host", "one by one", "@host:8080" },
		{ "@host:", "no port", "" },
		{ "@host:*", "one by one", "@host:8080" },
		{ "@host:a", "no port", "" },
		{ "@hosts:80", "user", "" },
		{ "host.hutch.internal:80", "this host", "@host:PORT" },
		{ "HOST.hutch.internal.", "this host", "@host:PORT" },
		{ "git@github.com", "user", "github.com" },
		{ "git@github.com:443", "user", "github.com" },
		{ "git@github.com:*", "user", "" },
		{ "git@github.com:owner/repository", "user", "git@HOST:22" },
		{ "root@github.com:22", "user", "github.com" },
		{ "user:pw@github.com:22", "user", "" },
		{ "git@10.1.2.3:22", "user", "" },
		{ "git@*.github.com:22", "user", "" },
		{ "git@git@github.com:22", "user", "" },
		{ "pypi.org@evil.example", "user", "evil.example" },
		{ "@", "user", "" },
	};
	struct egress_rule r = { .text = NULL };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memset(&e, 0, sizeof(e));
		if (egress_rule_parse(&r, EGRESS_ALLOW, rows[i].text, &e) == 0)
			fail_msg("'%s' was taken", rows[i].text);
		if (!strstr(e.text, rows[i].says) || !strstr(e.remedy, rows[i].remedy))
			fail_msg("'%s': %s; %s", rows[i].text, e.text, e.remedy);
		assert_null(r.text);
	}
}

static void test_a_target_has_a_bound(void **state)
{
	char text[EGRESS_TARGET_MAX + 2];
	struct egress_rule r;
	struct err e;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[EGRESS_TARGET_MAX + 1] = '\0';
	assert_int_equal(egress_rule_parse(&r, EGRESS_ALLOW, text, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
}

static void test_ports(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool contains;
	} rows[] = {
		{ "a:*", "a", true },	      { "a:*", "a:1", true },
		{ "a:*", "a:*", true },	      { "a", "a:80", true },
		{ "a", "a:443", true },	      { "a", "a:81", false },
		{ "a", "a:80-443", false },   { "a", "a", true },
		{ "a", "a:*", false },	      { "a:80-443", "a", true },
		{ "a:80-442", "a", false },   { "a:1-9", "a:2-8", true },
		{ "a:1-9", "a:2-10", false }, { "a:80", "a", false },
		{ "a:1-65535", "a", true },   { "a:1-65535", "a:*", false },
	};
	struct egress_rule outer, inner;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			egress_rule_parse(&outer, EGRESS_ALLOW, rows[i].outer, NULL), 0);
		assert_int_equal(
			egress_rule_parse(&inner, EGRESS_ALLOW, rows[i].inner, NULL), 0);
		if (egress_rule_contains(&outer, &inner) != rows[i].contains)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
		egress_rule_done(&outer);
		egress_rule_done(&inner);
	}
}

static void test_destinations_in_destinations(void **state)
{
	static const struct {
		enum egress_verdict outer_verdict;
		const char *outer, *inner;
		enum egress_verdict inner_verdict;
		bool contains;
	} rows[] = {
		{ EGRESS_ALLOW, "a.org", "a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "a.org", "b.org", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "a.org", "*.a.org", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*.a.org", "a.org", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*.a.org", "b.a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*.a.org", "*.a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*.a.org", "*.b.a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*.b.a.org", "*.a.org", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*", "a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*", "*.a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*", "*.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*", "*", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*", "registry", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*", "a.internal", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*", "*.internal", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*", "@host:80", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "*.internal:*", "@host:80", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "@host:80", "@host:80", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "*", "8.8.8.8", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "8.8.8.8", "*", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "10.0.0.0/8", "10.1.2.3", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "0.0.0.0/0", "8.8.8.8", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "0.0.0.0/0", "10.0.0.0/8", EGRESS_ALLOW, false },
		{ EGRESS_ALLOW, "0.0.0.0/0", "0.0.0.0/0", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "0.0.0.0/0", "8.0.0.0/6", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "0.0.0.0/0:*", "8.0.0.0/6", EGRESS_DENY, false },
		{ EGRESS_DENY, "0.0.0.0/0", "10.0.0.0/8", EGRESS_ALLOW, true },
		{ EGRESS_DENY, "0.0.0.0/0", "169.254.169.254", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "169.254.0.0/16", "169.254.169.254", EGRESS_ALLOW,
		  false },
		{ EGRESS_DENY, "a.org", "a.org", EGRESS_ALLOW, true },
		{ EGRESS_ALLOW, "a.org", "a.org", EGRESS_DENY, false },
	};
	struct egress_rule outer, inner;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(egress_rule_parse(&outer, rows[i].outer_verdict,
						   rows[i].outer, NULL),
				 0);
		assert_int_equal(egress_rule_parse(&inner, rows[i].inner_verdict,
						   rows[i].inner, NULL),
				 0);
		if (egress_rule_contains(&outer, &inner) != rows[i].contains)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
		egress_rule_done(&outer);
		egress_rule_done(&inner);
	}
}

static void test_proposals(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *proposal;
	} rows[] = {
		{ "pypi.org", 443, "pypi.org" },
		{ "pypi.org", 80, "pypi.org" },
		{ "pypi.org", 22, "pypi.org:22" },
		{ EGRESS_HOST_NAME, 80, "@host:80" },
		{ EGRESS_HOST_NAME, 8080, "@host:8080" },
		{ "10.1.2.3", 443, "10.1.2.3" },
		{ "10.1.2.3", 5432, "10.1.2.3:5432" },
		{ "fd00::7", 443, "fd00::7" },
		{ "fd00::7", 22, "[fd00::7]:22" },
	};
	struct host_name n;
	struct address a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *host = rows[i].host;
		struct egress_rule r;
		bool is_address = address_parse(host, strlen(host), &a);
		if (!is_address)
			assert_int_equal(host_name_read(&n, host, strlen(host)), 0);
		AUTO_FREE char *text =
			is_address ? egress_rule_propose_address(&a, rows[i].port)
				   : egress_rule_propose_name(&n, rows[i].port);
		assert_string_equal(text, rows[i].proposal);
		/* The proposal does what it is proposed for. */
		assert_int_equal(egress_rule_parse(&r, EGRESS_ALLOW, text, NULL), 0);
		assert_true(egress_ports_have(&r.ports, rows[i].port));
		assert_true(is_address ? egress_rule_has_address(&r, &a)
				       : egress_rule_has_name(&r, &n));
		egress_rule_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_a_denial_is_about_every_port),
		cmocka_unit_test(test_texts_that_are_no_rules),
		cmocka_unit_test(test_a_target_has_a_bound),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_destinations_in_destinations),
		cmocka_unit_test(test_proposals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
