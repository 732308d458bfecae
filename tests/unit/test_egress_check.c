/* egress_check: finds rules that decide nothing, or other things than they seem to. */
#include "policy/egress/egress_check.h"

#include "tests/unit/egress.h"

#define NONE ((int)-1)

static void test_warnings(void **state)
{
	static const struct {
		const char *rules;
		int rule; /* NONE: there is no warning */
		enum egress_warning_kind kind;
		int other;
	} rows[] = {
		{ "", NONE, 0, NONE },
		{ "allow a.org", NONE, 0, NONE },
		{ "allow a.org; allow b.org; deny *", NONE, 0, NONE },
		{ "allow a.org; allow a.org", 1, EGRESS_WARN_REPEATED, 0 },
		{ "allow a.org; allow A.ORG.", 1, EGRESS_WARN_REPEATED, 0 },
		{ "allow a.org; allow a.org:443", 1, EGRESS_WARN_REPEATED, 0 },
		{ "allow a.org:443; allow a.org", NONE, 0, NONE },
		{ "allow *.a.org; allow x.a.org", 1, EGRESS_WARN_REPEATED, 0 },
		{ "allow *.a.org; allow a.org", NONE, 0, NONE },
		{ "allow x.a.org; allow *.a.org", NONE, 0, NONE },
		{ "deny *; allow a.org", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "deny a.org; allow a.org:22", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "ask *; allow a.org", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "ask *:*; deny a.org", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "allow a.org; deny a.org:443", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "allow a.org; deny a.org:25", NONE, 0, NONE },
		/* a denial behind what it is to deny */
		{ "allow a.org; deny a.org", 1, EGRESS_WARN_PORTS, 0 },
		{ "allow *.a.org; deny x.a.org", 1, EGRESS_WARN_PORTS, 0 },
		{ "allow b.org; ask *.org; deny a.org", 2, EGRESS_WARN_PORTS, 1 },
		{ "allow a.org:8000-8010; deny a.org:8005-9000", 1, EGRESS_WARN_PORTS,
		  0 },
		{ "allow a.org:8000-8010; deny a.org:8011-9000", NONE, 0, NONE },
		{ "allow a.org:8000-8010; deny a.org:7000-9000", 1, EGRESS_WARN_PORTS,
		  0 },
		/* an exception before the rule */
		{ "deny a.org:25; allow a.org:*", NONE, 0, NONE },
		{ "deny x.a.org; allow *.a.org", NONE, 0, NONE },
		/* networks */
		{ "allow 10.0.0.0/8; allow 10.1.2.3", 1, EGRESS_WARN_REPEATED, 0 },
		{ "deny 10.0.0.0/8; allow 10.1.2.3", 1, EGRESS_WARN_UNREACHABLE, 0 },
		{ "deny 10.1.2.3; allow 10.0.0.0/8", NONE, 0, NONE },
		{ "allow 10.0.0.0/8; deny 10.1.2.3", 1, EGRESS_WARN_PORTS, 0 },
		/* wide ones */
		{ "allow *", 0, EGRESS_WARN_ANY, NONE },
		{ "ask *", NONE, 0, NONE },
		{ "deny *", NONE, 0, NONE },
		{ "allow 0.0.0.0/0", 0, EGRESS_WARN_WIDE, NONE },
		{ "allow 8.0.0.0/7", 0, EGRESS_WARN_WIDE, NONE },
		{ "allow 8.0.0.0/8", NONE, 0, NONE },
		{ "allow 2000::/3", 0, EGRESS_WARN_WIDE, NONE },
		{ "allow 2606:4700::/32", NONE, 0, NONE },
		{ "deny 0.0.0.0/0", NONE, 0, NONE },
		/* resolvers */
		{ "allow dns.google", 0, EGRESS_WARN_RESOLVER, NONE },
		{ "allow *.quad9.net", 0, EGRESS_WARN_RESOLVER, NONE },
		{ "allow cloudflare-dns.com:443", 0, EGRESS_WARN_RESOLVER, NONE },
		{ "ask dns.google", NONE, 0, NONE },
		{ "deny dns.google", NONE, 0, NONE },
		{ "allow google.com", NONE, 0, NONE },
		/* presets without their @ */
		{ "allow pypi", 0, EGRESS_WARN_LABEL, NONE },
		{ "deny Pypi:443", 0, EGRESS_WARN_LABEL, NONE },
		{ "ask npm", 0, EGRESS_WARN_LABEL, NONE },
		{ "allow *.pypi", 0, EGRESS_WARN_TOP, NONE },
		{ "allow intranet", NONE, 0, NONE },
		{ "allow pypi.lan", NONE, 0, NONE },
		/* names that do not lead to this host */
		{ "allow localhost:5432", 0, EGRESS_WARN_HOST, NONE },
		{ "allow Host", 0, EGRESS_WARN_HOST, NONE },
		{ "allow host.docker.internal:80", 0, EGRESS_WARN_HOST, NONE },
		{ "deny localhost", NONE, 0, NONE },
		{ "allow @host:5432", NONE, 0, NONE },
		/* names that anyone can have */
		{ "allow *.com", 0, EGRESS_WARN_TOP, NONE },
		{ "allow *.com:8443", 0, EGRESS_WARN_TOP, NONE },
		{ "deny *.com", NONE, 0, NONE },
		{ "ask *.com", NONE, 0, NONE },
		{ "allow *.a.com", NONE, 0, NONE },
		{ "allow *.internal", NONE, 0, NONE },
		/* presets do not repeat one another */
		{ "allow @pypi; allow @npm; allow @github", NONE, 0, NONE },
		{ "allow @pypi; allow pypi.org", 2, EGRESS_WARN_REPEATED, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress_rules r = egress_of(rows[i].rules);
		struct egress_warning *w = NULL;
		size_t count = egress_rules_check(&r, &w);
		const bool is_wanted = rows[i].rule != NONE;
		if (count != is_wanted)
			fail_msg("'%s': %zu warnings", rows[i].rules, count);
		if (is_wanted) {
			AUTO_FREE char *text = egress_warning_text(&r, w);
			const size_t other = rows[i].other == NONE
						     ? EGRESS_NO_RULE
						     : (size_t)rows[i].other;
			if (w->kind != rows[i].kind || w->other != other ||
			    w->rule != (size_t)rows[i].rule)
				fail_msg("'%s': %s", rows[i].rules, text);
			assert_int_equal(!strncmp(text, "rule ", 5), 1);
		}
		free(w);
		egress_rules_done(&r);
	}
}

/* All presets together are warned of for nothing. */
static void test_presets_are_clean(void **state)
{
	static const char *const all[] = {
		"allow @pypi; allow @debian", "allow @docker",
		"allow @huggingface; allow @golang",
		"allow @crates; allow @rustup; allow @openai"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct egress_rules r = egress_of(all[i]);
		struct egress_warning *w = NULL;
		assert_int_equal(egress_rules_check(&r, &w), 0);
		free(w);
		egress_rules_done(&r);
	}
}

static void test_the_text_of_a_warning(void **state)
{
	struct egress_rules r = egress_of("deny *.org; allow @pypi");
	struct egress_warning *w = NULL;

	(void)state;
	assert_int_equal(egress_rules_check_alone(&r, &w), 0);
	free(w);
	assert_int_equal(egress_rules_check(&r, &w), 2);
	AUTO_FREE char *text = egress_warning_text(&r, &w[1]);
	assert_string_equal(text,
			    "rule 3, allow pypi.org (@pypi), is never asked: an earlier "
			    "rule decides otherwise: rule 1, deny *.org");
	free(w);
	egress_rules_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_presets_are_clean),
		cmocka_unit_test(test_the_text_of_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
