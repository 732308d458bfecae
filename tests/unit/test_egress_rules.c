/* egress_rules: which rule decides about a name, an address and a question. */
#include "policy/egress/egress_rules.h"

#include "base/mem.h"
#include "tests/unit/egress.h"

#define NONE  ((int)-1)
#define ALLOW EGRESS_ALLOW
#define DENY  EGRESS_DENY
#define ASK   EGRESS_ASK

static int index_of(const struct egress_decision *d)
{
	return d->rule == EGRESS_NO_RULE ? NONE : (int)d->rule;
}

static void test_names(void **state)
{
	static const struct {
		const char *rules, *name;
		uint16_t port;
		enum egress_verdict verdict;
		enum reason reason;
		int rule;
	} rows[] = {
		{ "", "a.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow a.org", "a.org", 80, ALLOW, REASON_RULE, 0 },
		{ "allow a.org", "a.org", 8443, DENY, REASON_PORT, 0 },
		{ "allow a.org", "a.org", 81, DENY, REASON_PORT, 0 },
		{ "allow a.org", "a.org", 442, DENY, REASON_PORT, 0 },
		{ "allow a.org", "b.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "x.a.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "a.org.evil.com", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "xa.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org:22", "a.org", 22, ALLOW, REASON_RULE, 0 },
		{ "allow a.org:22", "a.org", 443, DENY, REASON_PORT, 0 },
		{ "allow a.org:8000-8010", "a.org", 8000, ALLOW, REASON_RULE, 0 },
		{ "allow a.org:8000-8010", "a.org", 8010, ALLOW, REASON_RULE, 0 },
		{ "allow a.org:8000-8010", "a.org", 7999, DENY, REASON_PORT, 0 },
		{ "allow a.org:8000-8010", "a.org", 8011, DENY, REASON_PORT, 0 },
		{ "allow a.org:*", "a.org", 1, ALLOW, REASON_RULE, 0 },
		{ "allow a.org:*", "a.org", 65535, ALLOW, REASON_RULE, 0 },
		{ "allow a.org:22; allow a.org", "a.org", 443, ALLOW, REASON_RULE, 1 },
		{ "allow a.org:22; allow a.org", "a.org", 25, DENY, REASON_PORT, 0 },
		{ "allow *.a.org", "x.a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow *.a.org", "x.y.z.a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow *.a.org", "a.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *.a.org", "xa.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *.a.org", "x.a.org.evil.com", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *.a.org:22", "x.a.org", 443, DENY, REASON_PORT, 0 },
		{ "allow *", "a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow *", "a.org", 22, DENY, REASON_PORT, 0 },
		{ "allow *", "org", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *", "localhost", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *", "a.internal", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *", "metadata.google.internal", 80, DENY, REASON_NO_RULE, NONE },
		{ "allow *", "printer.local", 80, DENY, REASON_NO_RULE, NONE },
		{ "allow *:*", EGRESS_HOST_NAME, 80, DENY, REASON_NO_RULE, NONE },
		{ "allow *.hutch.internal", EGRESS_HOST_NAME, 80, DENY, REASON_NO_RULE,
		  NONE },
		{ "allow *.internal:*", EGRESS_HOST_NAME, 80, DENY, REASON_NO_RULE,
		  NONE },
		{ "allow @host:8080", EGRESS_HOST_NAME, 8080, ALLOW, REASON_RULE, 0 },
		{ "allow @host:8080", EGRESS_HOST_NAME, 80, DENY, REASON_PORT, 0 },
		{ "allow @host:8080", "x.host.hutch.internal", 8080, DENY, REASON_NO_RULE,
		  NONE },
		{ "deny @host; allow @host:8080", EGRESS_HOST_NAME, 8080, DENY,
		  REASON_RULE, 0 },
		{ "allow registry:5000", "registry", 5000, ALLOW, REASON_RULE, 0 },
		{ "allow vault.internal", "vault.internal", 443, ALLOW, REASON_RULE, 0 },
		/* the order */
		{ "deny a.org; allow a.org", "a.org", 443, DENY, REASON_RULE, 0 },
		{ "allow a.org; deny a.org", "a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow a.org; deny a.org", "a.org", 22, DENY, REASON_RULE, 1 },
		{ "deny x.a.org; allow *.a.org", "x.a.org", 443, DENY, REASON_RULE, 0 },
		{ "deny x.a.org; allow *.a.org:*", "x.a.org", 22, DENY, REASON_RULE, 0 },
		{ "deny x.a.org; allow *.a.org", "y.a.org", 443, ALLOW, REASON_RULE, 1 },
		{ "allow *.a.org; deny x.a.org", "x.a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "deny a.org:443; allow a.org", "a.org", 443, DENY, REASON_RULE, 0 },
		{ "deny a.org:443; allow a.org", "a.org", 80, ALLOW, REASON_RULE, 1 },
		{ "deny a.org:443", "a.org", 80, DENY, REASON_NO_RULE, NONE },
		{ "ask *", "a.org", 443, ASK, REASON_RULE, 0 },
		{ "allow a.org; ask *", "a.org", 443, ALLOW, REASON_RULE, 0 },
		{ "allow a.org; ask *", "b.org", 443, ASK, REASON_RULE, 1 },
		{ "allow a.org; ask *", "b.org", 22, DENY, REASON_PORT, 1 },
		{ "allow a.org:22; ask *", "a.org", 443, ASK, REASON_RULE, 1 },
		{ "ask *; allow a.org", "a.org", 443, ASK, REASON_RULE, 0 },
		{ "allow a.org; deny *; ask *", "b.org", 443, DENY, REASON_RULE, 1 },
		/* rules for networks are not about names */
		{ "allow 0.0.0.0/0:*", "a.org", 443, DENY, REASON_NO_RULE, NONE },
		{ "deny 0.0.0.0/0; allow a.org", "a.org", 443, ALLOW, REASON_RULE, 1 },
		{ "allow git@github.com:22", "github.com", 22, ALLOW, REASON_RULE, 0 },
		{ "allow git@github.com:22", "github.com", 443, DENY, REASON_PORT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_rules r = egress_of(rows[i].rules);
		struct host_name n = name_of(rows[i].name);
		struct egress_decision d;
		egress_rules_name(&r, &n, rows[i].port, &d);
		if (d.verdict != rows[i].verdict || d.reason != rows[i].reason ||
		    index_of(&d) != rows[i].rule)
			fail_msg("'%s', %s:%u: %s, %s, rule %d", rows[i].rules,
				 rows[i].name, rows[i].port,
				 egress_verdict_word(d.verdict), reason_word(d.reason),
				 index_of(&d));
		egress_rules_done(&r);
	}
}

static void test_literal_addresses(void **state)
{
	static const struct {
		const char *rules, *address;
		uint16_t port;
		enum egress_verdict verdict;
		enum reason reason;
		int rule;
	} rows[] = {
		{ "", "8.8.8.8", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *", "8.8.8.8", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow *:*; ask *:*", "8.8.8.8", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow a.org", "8.8.8.8", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow 8.8.8.8", "8.8.8.8", 443, ALLOW, REASON_RULE, 0 },
		{ "allow 8.8.8.8", "::ffff:8.8.8.8", 443, ALLOW, REASON_RULE, 0 },
		{ "allow 8.8.8.8", "8.8.8.8", 53, DENY, REASON_PORT, 0 },
		{ "allow 8.8.8.8", "8.8.8.9", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow 8.0.0.0/8", "8.9.9.9", 443, ALLOW, REASON_RULE, 0 },
		{ "allow 10.0.0.0/8:5432", "10.1.2.3", 5432, ALLOW, REASON_RULE, 0 },
		{ "allow 10.0.0.0/8:5432", "10.1.2.3", 80, DENY, REASON_PORT, 0 },
		{ "allow 0.0.0.0/0", "8.8.8.8", 443, ALLOW, REASON_RULE, 0 },
		{ "allow 0.0.0.0/0", "10.1.2.3", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow 0.0.0.0/0", "127.0.0.1", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow 0.0.0.0/0; allow 10.0.0.0/8", "10.1.2.3", 443, ALLOW,
		  REASON_RULE, 1 },
		{ "deny 0.0.0.0/0; allow 10.0.0.0/8", "10.1.2.3", 443, DENY, REASON_RULE,
		  0 },
		{ "deny 10.0.0.1; allow 10.0.0.0/8", "10.0.0.1", 443, DENY, REASON_RULE,
		  0 },
		{ "deny 10.0.0.1; allow 10.0.0.0/8", "10.0.0.2", 443, ALLOW, REASON_RULE,
		  1 },
		{ "ask 10.0.0.0/8", "10.0.0.2", 443, ASK, REASON_RULE, 0 },
		/* a metadata service */
		{ "", "169.254.169.254", 80, DENY, REASON_METADATA, NONE },
		{ "allow 169.254.0.0/16", "169.254.169.254", 80, DENY, REASON_METADATA,
		  NONE },
		{ "allow 0.0.0.0/0", "169.254.169.254", 80, DENY, REASON_METADATA, NONE },
		{ "allow 168.63.129.0/24", "168.63.129.16", 80, DENY, REASON_METADATA,
		  NONE },
		{ "allow 169.254.169.254", "169.254.169.254", 80, ALLOW, REASON_RULE, 0 },
		{ "deny 169.254.169.254", "169.254.169.254", 80, DENY, REASON_RULE, 0 },
		{ "allow fd00::/8", "fd00:ec2::254", 80, DENY, REASON_METADATA, NONE },
		/* IPv4 inside IPv6: the rule has to be about both */
		{ "allow ::/0", "2606:4700::1", 443, ALLOW, REASON_RULE, 0 },
		{ "allow ::/0", "64:ff9b::8.8.8.8", 443, ALLOW, REASON_RULE, 0 },
		{ "allow ::/0", "64:ff9b::10.0.0.1", 443, DENY, REASON_PRIVATE_ADDRESS,
		  NONE },
		{ "allow ::/0", "64:ff9b::169.254.169.254", 80, DENY, REASON_METADATA,
		  NONE },
		{ "allow ::/0; allow 169.254.169.254", "64:ff9b::169.254.169.254", 80,
		  DENY, REASON_METADATA, NONE },
		{ "allow ::/0", "64:ff9b::127.0.0.1", 443, DENY, REASON_PRIVATE_ADDRESS,
		  NONE },
		{ "allow ::/0", "::127.0.0.1", 443, DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow ::/0", "2002:7f00:1::", 443, DENY, REASON_PRIVATE_ADDRESS,
		  NONE },
		{ "allow ::/0", "2001:0:808:808::80ff:fffe", 443, DENY,
		  REASON_PRIVATE_ADDRESS, NONE },
		{ "allow ::/0", "::ffff:10.0.0.1", 443, DENY, REASON_NO_RULE, NONE },
		{ "allow 10.0.0.0/8", "64:ff9b::10.0.0.1", 443, DENY, REASON_NO_RULE,
		  NONE },
		{ "allow 64:ff9b::/96; allow 10.0.0.0/8", "64:ff9b::10.0.0.1", 443, ALLOW,
		  REASON_RULE, 0 },
		{ "deny 8.8.8.8; allow 64:ff9b::/96", "64:ff9b::8.8.8.8", 443, DENY,
		  REASON_RULE, 0 },
		{ "ask 8.8.8.8; allow 64:ff9b::/96", "64:ff9b::8.8.8.8", 443, ASK,
		  REASON_RULE, 0 },
		{ "allow fd00::/64", "fd00::7", 443, ALLOW, REASON_RULE, 0 },
		{ "allow fd00::/64", "fd00:0:0:1::7", 443, DENY, REASON_NO_RULE, NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_rules r = egress_of(rows[i].rules);
		struct address a = address_of(rows[i].address);
		struct egress_decision d;
		egress_rules_address(&r, &a, rows[i].port, &d);
		if (d.verdict != rows[i].verdict || d.reason != rows[i].reason ||
		    index_of(&d) != rows[i].rule)
			fail_msg("'%s', %s:%u: %s, %s, rule %d", rows[i].rules,
				 rows[i].address, rows[i].port,
				 egress_verdict_word(d.verdict), reason_word(d.reason),
				 index_of(&d));
		egress_rules_done(&r);
	}
}

static void test_addresses_that_a_name_has(void **state)
{
	static const struct {
		const char *rules, *address;
		enum egress_verdict verdict;
		enum reason reason;
		int rule;
	} rows[] = {
		{ "allow a.org", "93.184.215.14", ALLOW, REASON_NO_RULE, NONE },
		{ "allow a.org", "2606:4700::1", ALLOW, REASON_NO_RULE, NONE },
		{ "allow a.org", "64:ff9b::8.8.8.8", ALLOW, REASON_NO_RULE, NONE },
		{ "allow a.org", "0.0.0.0", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "10.1.2.3", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "127.0.0.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "192.168.1.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "198.18.0.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "169.254.1.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "169.254.169.254", DENY, REASON_METADATA, NONE },
		{ "allow a.org", "::1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "::ffff:127.0.0.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "::127.0.0.1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "64:ff9b::7f00:1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "64:ff9b::a9fe:a9fe", DENY, REASON_METADATA, NONE },
		{ "allow a.org", "64:ff9b:1::8.8.8.8", DENY, REASON_PRIVATE_ADDRESS,
		  NONE },
		{ "allow a.org", "2002:a00:1::", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "2001:0:808:808::80ff:fffe", DENY,
		  REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "fd00::1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "fe80::1", DENY, REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org", "fd00:ec2::254", DENY, REASON_METADATA, NONE },
		/* a range that is named */
		{ "allow a.org; allow 10.0.0.0/8", "10.1.2.3", ALLOW, REASON_RULE, 1 },
		{ "allow 10.0.0.0/8; allow a.org", "10.1.2.3", ALLOW, REASON_RULE, 0 },
		{ "allow a.org; allow 10.1.2.3", "10.1.2.3", ALLOW, REASON_RULE, 1 },
		{ "allow a.org; allow 10.1.2.3", "10.1.2.4", DENY, REASON_PRIVATE_ADDRESS,
		  NONE },
		{ "allow a.org; allow 10.0.0.0/8:22", "10.1.2.3", DENY,
		  REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org; allow 0.0.0.0/0", "10.1.2.3", DENY,
		  REASON_PRIVATE_ADDRESS, NONE },
		{ "allow a.org; allow fd00::/8", "fd00::1", ALLOW, REASON_RULE, 1 },
		{ "allow a.org; ask 10.0.0.0/8", "10.1.2.3", ASK, REASON_RULE, 1 },
		/* a metadata service stays shut to names, even where its address is named */
		{ "allow a.org; allow 169.254.169.254", "169.254.169.254", DENY,
		  REASON_METADATA, NONE },
		{ "allow a.org; ask 169.254.169.254", "169.254.169.254", DENY,
		  REASON_METADATA, NONE },
		{ "allow a.org; deny 169.254.169.254", "169.254.169.254", DENY,
		  REASON_RULE, 1 },
		{ "allow a.org; allow 169.254.0.0/16", "169.254.1.1", ALLOW, REASON_RULE,
		  1 },
		/* a denied network is denied to each name */
		{ "allow a.org; deny 93.184.0.0/16", "93.184.215.14", DENY, REASON_RULE,
		  1 },
		{ "allow a.org; deny 93.184.0.0/16:22", "93.184.215.14", ALLOW,
		  REASON_NO_RULE, NONE },
		{ "allow a.org; deny 8.8.8.8", "64:ff9b::8.8.8.8", DENY, REASON_RULE, 1 },
		{ "allow a.org; allow 8.8.8.8:22", "8.8.8.8", ALLOW, REASON_NO_RULE,
		  NONE },
		{ "allow a.org; allow 10.0.0.0/8", "64:ff9b::10.0.0.1", ALLOW,
		  REASON_NO_RULE, NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_rules r = egress_of(rows[i].rules);
		struct address a = address_of(rows[i].address);
		struct egress_decision d;
		egress_rules_resolved(&r, &a, 443, &d);
		if (d.verdict != rows[i].verdict || d.reason != rows[i].reason ||
		    index_of(&d) != rows[i].rule)
			fail_msg("'%s', %s: %s, %s, rule %d", rows[i].rules,
				 rows[i].address, egress_verdict_word(d.verdict),
				 reason_word(d.reason), index_of(&d));
		egress_rules_done(&r);
	}
}

/* No range is open to a name by a rule for names, and none to a wide network. */
static void test_no_special_range_is_open_by_chance(void **state)
{
	struct egress_rules r =
		egress_of("allow *:*; allow a.org:*; allow 0.0.0.0/0:*; allow [::/0]:*;"
			  "allow 0.0.0.0/1:*; allow 128.0.0.0/1:*; allow [::/1]:*;"
			  "allow [8000::/1]:*");

	(void)state;
	for (size_t i = 0; i < address_range_count; i++) {
		const struct address *a = &address_ranges[i].network.first;
		struct egress_decision d;
		egress_rules_resolved(&r, a, 443, &d);
		assert_int_equal(d.verdict, EGRESS_DENY);
		egress_rules_address(&r, a, 443, &d);
		assert_int_equal(d.verdict, EGRESS_DENY);
	}
	egress_rules_done(&r);
}

static void test_questions(void **state)
{
	static const struct {
		const char *rules, *name;
		enum egress_lookup lookup;
		int rule;
	} rows[] = {
		{ "", "a.org", EGRESS_LOOKUP_REFUSED, NONE },
		{ "allow b.org", "a.org", EGRESS_LOOKUP_REFUSED, NONE },
		{ "allow a.org", "a.org", EGRESS_LOOKUP_ALLOWED, 0 },
		{ "allow a.org:22", "a.org", EGRESS_LOOKUP_ALLOWED, 0 },
		{ "allow a.org", "x.a.org", EGRESS_LOOKUP_REFUSED, NONE },
		{ "allow *.a.org", "x.a.org", EGRESS_LOOKUP_ASKED, 0 },
		{ "allow *", "a.org", EGRESS_LOOKUP_ASKED, 0 },
		{ "allow *", "localhost", EGRESS_LOOKUP_REFUSED, NONE },
		{ "ask a.org", "a.org", EGRESS_LOOKUP_ASKED, 0 },
		{ "ask *", "a.org", EGRESS_LOOKUP_ASKED, 0 },
		{ "deny a.org", "a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org; allow a.org", "a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org:443; allow a.org", "a.org", EGRESS_LOOKUP_ALLOWED, 1 },
		{ "deny a.org:443; allow a.org:443", "a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org:80; deny a.org:443; allow a.org", "a.org",
		  EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org:80-443; allow a.org", "a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org:1-65535; allow a.org:*", "a.org", EGRESS_LOOKUP_REFUSED,
		  0 },
		{ "deny a.org:2-65535; allow a.org:*", "a.org", EGRESS_LOOKUP_ALLOWED,
		  1 },
		{ "deny a.org:1-63; deny a.org:64-128; allow a.org:128", "a.org",
		  EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny a.org:1-63; deny a.org:64-127; allow a.org:128", "a.org",
		  EGRESS_LOOKUP_ALLOWED, 2 },
		{ "deny x.a.org; allow *.a.org", "x.a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "deny x.a.org; allow *.a.org", "y.a.org", EGRESS_LOOKUP_ASKED, 1 },
		{ "ask *; allow a.org", "a.org", EGRESS_LOOKUP_ASKED, 0 },
		{ "ask *; allow a.org:22", "a.org", EGRESS_LOOKUP_ALLOWED, 1 },
		{ "allow *.a.org; allow x.a.org:22", "x.a.org", EGRESS_LOOKUP_ALLOWED,
		  1 },
		{ "deny *; allow a.org", "a.org", EGRESS_LOOKUP_REFUSED, 0 },
		{ "allow a.org; deny *", "a.org", EGRESS_LOOKUP_ALLOWED, 0 },
		{ "allow a.org; deny *", "b.org", EGRESS_LOOKUP_REFUSED, 1 },
		{ "allow 0.0.0.0/0:*", "a.org", EGRESS_LOOKUP_REFUSED, NONE },
		{ "allow @host:80", EGRESS_HOST_NAME, EGRESS_LOOKUP_ALLOWED, 0 },
		{ "allow *", EGRESS_HOST_NAME, EGRESS_LOOKUP_REFUSED, NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_rules r = egress_of(rows[i].rules);
		struct host_name n = name_of(rows[i].name);
		struct egress_decision d;
		enum egress_lookup l = egress_rules_lookup(&r, &n, &d);
		if (l != rows[i].lookup || index_of(&d) != rows[i].rule)
			fail_msg("'%s', %s: %d, rule %d", rows[i].rules, rows[i].name,
				 (int)l, index_of(&d));
		assert_int_equal(d.reason,
				 d.rule == EGRESS_NO_RULE ? REASON_NO_RULE : REASON_RULE);
		assert_int_equal(egress_rules_lookup(&r, &n, NULL), l);
		egress_rules_done(&r);
	}
}

/* A question is answered with a fake address exactly if some port can be connected to. */
static void test_questions_agree_with_connections(void **state)
{
	static const char *const rules[] = {
		"deny a.org:443; allow a.org",
		"allow *.org:22; deny a.org; ask *",
		"deny a.org:1-100; deny a.org:200-65535; allow *:*",
		"deny *:1-65535; ask *:*",
		"deny *; allow a.org",
		"ask a.org:65535",
		"deny a.org:81-442; allow a.org",
	};
	struct host_name n = name_of("a.org");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct egress_rules r = egress_of(rules[i]);
		bool is_open = false;
		for (unsigned int port = 1; port <= UINT16_MAX; port++) {
			struct egress_decision d;
			egress_rules_name(&r, &n, (uint16_t)port, &d);
			is_open |= d.verdict != EGRESS_DENY;
		}
		if (is_open !=
		    (egress_rules_lookup(&r, &n, NULL) != EGRESS_LOOKUP_REFUSED))
			fail_msg("'%s'", rules[i]);
		egress_rules_done(&r);
	}
}

static void test_presets_become_rules(void **state)
{
	struct egress_rules r = egress_of("allow a.org; deny @pypi; allow b.org");
	struct egress_word word = { .verdict = EGRESS_ALLOW };
	struct err e;

	(void)state;
	assert_int_equal(r.count, 4);
	assert_string_equal(r.items[1].text, "files.pythonhosted.org (@pypi)");
	assert_string_equal(r.items[2].text, "pypi.org (@pypi)");
	assert_int_equal(r.items[2].verdict, EGRESS_DENY);
	assert_string_equal(r.items[3].text, "b.org");
	assert_string_equal(r.items[3].from, "a test");
	word.target = "@pypy";
	word.from = "--allow @pypy";
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "is it @pypi?"));
	assert_non_null(strstr(e.text, "(from --allow @pypy)"));
	word.target = "@pypi:443";
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_non_null(strstr(e.text, "its own ports"));
	assert_non_null(strstr(e.remedy, "@pypi is"));
	word.target = "@";
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(r.count, 4);
	egress_rules_done(&r);
	egress_rules_done(&r);
}

static void test_rules_come_and_go(void **state)
{
	struct egress_rules r = egress_of("allow a.org; allow b.org:22");
	struct egress_word word = {
		EGRESS_DENY, "a.org", "not here", "live", false, NULL
	};
	struct host_name n = name_of("a.org");
	struct egress_decision d;

	(void)state;
	assert_int_equal(egress_rules_insert(&r, 0, &word, NULL), 0);
	egress_rules_name(&r, &n, 443, &d);
	assert_int_equal(d.verdict, EGRESS_DENY);
	assert_string_equal(r.items[d.rule].why, "not here");
	assert_int_equal(r.port_count, 3);
	egress_rules_remove(&r, 0);
	egress_rules_name(&r, &n, 443, &d);
	assert_int_equal(d.verdict, EGRESS_ALLOW);
	egress_rules_remove(&r, 0);
	assert_int_equal(r.port_count, 1);
	assert_int_equal(r.ports[0], 22);
	egress_rules_remove(&r, 7);
	word.target = "@npm";
	assert_int_equal(egress_rules_insert(&r, 99, &word, NULL), 0);
	assert_string_equal(r.items[1].text, "registry.npmjs.org (@npm)");
	egress_rules_remove(&r, 0);
	egress_rules_remove(&r, 0);
	assert_int_equal(r.count, 0);
	assert_int_equal(r.port_count, 0);
	egress_rules_done(&r);
}

static void test_ports_that_need_a_listener(void **state)
{
	struct egress_rules r = egress_of("allow a.org; deny b.org:25; ask c.org:22;"
					  "allow d.org:8000-8002; allow 10.0.0.1:5432");
	static const uint16_t ports[] = { 22, 80, 443, 5432, 8000, 8001, 8002 };

	(void)state;
	assert_int_equal(r.port_count, ARRAY_LEN(ports));
	assert_memory_equal(r.ports, ports, sizeof(ports));
	assert_false(r.has_all_ports);
	egress_rules_done(&r);
	r = egress_of("deny *");
	assert_false(r.has_all_ports);
	egress_rules_done(&r);
	r = egress_of("allow a.org:*");
	assert_true(r.has_all_ports);
	egress_rules_remove(&r, 0);
	assert_false(r.has_all_ports);
	egress_rules_done(&r);
}

static void test_bounds(void **state)
{
	struct egress_rules r = egress_of("allow a.org:1000-1063");
	struct egress_word word = { EGRESS_ALLOW, "a.org:1064", NULL, NULL, false, NULL };
	char why[EGRESS_WHY_MAX + 2];
	struct err e;

	(void)state;
	assert_false(r.has_all_ports);
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_true(r.has_all_ports);
	egress_rules_remove(&r, 0);
	assert_int_equal(r.port_count, 1);
	assert_false(r.has_all_ports);
	word.target = "b.org:1000-1063";
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_true(r.has_all_ports);
	word.target = "b.org:1-65535";
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	word.verdict = EGRESS_DENY;
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_int_equal(r.port_count, EGRESS_PORTS_MAX);
	word.target = "c.org";
	while (r.count < EGRESS_RULES_MAX)
		assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	egress_rules_remove(&r, 9);
	word.target = "@pypi"; /* two rules, and room for one */
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(r.count, EGRESS_RULES_MAX - 1);
	word.target = "c.org";
	memset(why, 'x', sizeof(why));
	why[EGRESS_WHY_MAX + 1] = '\0';
	word.why = why;
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	why[EGRESS_WHY_MAX] = '\0';
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	egress_rules_remove(&r, 0);
	word.why = "two\nlines";
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	word.why = "an \x1b escape";
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	egress_rules_done(&r);
}

static void test_rules_are_bounded_together(void **state)
{
	struct egress_rules r =
		egress_of("allow a.org; deny *; ask b.org:22; allow c.org:1000-1060");
	struct egress_word word = { .verdict = EGRESS_ALLOW, .target = "c.org:1061" };
	struct err e;

	(void)state;
	assert_int_equal(r.port_count, EGRESS_PORTS_MAX);
	assert_false(r.has_all_ports);
	assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_true(r.has_all_ports);
	egress_rules_remove(&r, r.count - 1);
	assert_false(r.has_all_ports);
	while (r.count < EGRESS_RULES_MAX)
		assert_int_equal(egress_rules_add(&r, &word, &e), 0);
	assert_int_equal(egress_rules_add(&r, &word, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, "more than 1024 rules"));
	assert_int_equal(r.count, EGRESS_RULES_MAX);
	egress_rules_done(&r);
}

static void test_room_for_rules_is_bounded(void **state)
{
	struct egress_rules r = egress_of("allow a.org");

	(void)state;
	egress_rules_reserve(&r, 5);
	assert_int_equal(r.room, 5);
	egress_rules_reserve(&r, 2);
	assert_int_equal(r.room, 5);
	egress_rules_reserve(&r, SIZE_MAX);
	assert_int_equal(r.room, EGRESS_RULES_MAX);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.items[0].name.text, "a.org");
	egress_rules_done(&r);
}

static void test_rules_in_json(void **state)
{
	static const struct {
		const char *json, *says; /* NULL: it is a rule */
	} rows[] = {
		{ "{\"allow\":\"a.org\"}", NULL },
		{ "{\"deny\":\"a.org\",\"why\":\"it is slow\"}", NULL },
		{ "{\"ask\":\"*\"}", NULL },
		{ "{\"allow\":\"@pypi\"}", NULL },
		{ "{\"allow\":\"a.org\",\"tls\":\"any\"}", NULL },
		{ "{\"ask\":\"a.org\",\"tls\":\"strict\"}", NULL },
		{ "{}", "none of" },
		{ "[]", "object" },
		{ "\"a.org\"", "object" },
		{ "", "" },
		{ "{\"allow\":\"a.org\"", "" },
		{ "{\"allow\":\"a.org\"} ,", "" },
		{ "{\"why\":\"a\"}", "none of" },
		{ "{\"allow\":\"a.org\",\"deny\":\"b.org\"}", "one of" },
		{ "{\"allow\":[\"a.org\"]}", "rule.allow" },
		{ "{\"allow\":7}", "rule.allow" },
		{ "{\"allow\":null}", "none of" },
		{ "{\"allow\":\"a.org\",\"allow\":\"b.org\"}", "" },
		{ "{\"Allow\":\"a.org\"}", "Allow" },
		{ "{\"allow\":\"a.org\",\"port\":22}", "port" },
		{ "{\"allow\":\"a.org\",\"why\":7}", "rule.why" },
		{ "{\"allow\":\"a.org\",\"tls\":\"none\"}", "rule.tls" },
		{ "{\"allow\":\"a.org\",\"tls\":true}", "rule.tls" },
		{ "{\"deny\":\"a.org\",\"tls\":\"any\"}", "rule.tls" },
		{ "{\"allow\":\"a.org\",\"http\":{\"methods\":[\"GET\"]}}",
		  "method and path" },
		{ "{\"allow\":\"a.org:0\"}", "no port" },
		{ "{\"allow\":\"\"}", "no host" },
		{ "{\"allow\":\"a.org\\u0000b\"}", "" },
		{ "{\"deny\":\"a.org\",\"why\":\"a\\nb\"}", "one line" },
		{ "{\"allow\":\"@host:80\",\"as\":\"Db\"}", NULL },
		{ "{\"allow\":\"@host:80\",\"as\":\"d b\"}", "is no name" },
		{ "{\"allow\":\"@host:80\",\"as\":7}", "rule.as" },
		{ "{\"allow\":\"a.org\",\"as\":\"db\"}", "this host's loopback" },
		{ "{\"allow\":\"@pypi\",\"as\":\"db\"}", "this host's loopback" },
	};
	struct egress_decision d;
	struct egress_rules r = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t before = r.count;
		int got = egress_rules_add_json(&r, rows[i].json, "policy.json", &e);
		if ((got == 0) != !rows[i].says)
			fail_msg("%s: %s", rows[i].json, got ? e.text : "taken");
		if (got == 0)
			continue;
		assert_int_equal(r.count, before);
		if (!strstr(e.text, rows[i].says) ||
		    !strstr(e.text, "(from policy.json)"))
			fail_msg("%s: %s", rows[i].json, e.text);
	}
	assert_string_equal(r.items[1].why, "it is slow");
	assert_int_equal(r.items[2].kind, EGRESS_ANY);
	assert_true(r.items[5].has_any_tls);
	assert_false(r.items[6].has_any_tls);
	assert_int_equal(r.items[6].verdict, EGRESS_ASK);
	/* the name of "as", and not the usual one */
	const struct host_name db = name_of("db"), usual = name_of(EGRESS_HOST_NAME);
	egress_rules_remove(&r, 2); /* ask * */
	assert_int_equal(egress_rules_lookup(&r, &db, &d), EGRESS_LOOKUP_ALLOWED);
	assert_int_equal(r.items[d.rule].kind, EGRESS_LOOPBACK);
	assert_int_equal(egress_rules_lookup(&r, &usual, NULL), EGRESS_LOOKUP_REFUSED);
	egress_rules_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_literal_addresses),
		cmocka_unit_test(test_addresses_that_a_name_has),
		cmocka_unit_test(test_no_special_range_is_open_by_chance),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_questions_agree_with_connections),
		cmocka_unit_test(test_presets_become_rules),
		cmocka_unit_test(test_rules_come_and_go),
		cmocka_unit_test(test_ports_that_need_a_listener),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rules_are_bounded_together),
		cmocka_unit_test(test_room_for_rules_is_bounded),
		cmocka_unit_test(test_rules_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
