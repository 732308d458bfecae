#include "policy/egress/egress_check.h"

#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/egress/egress_presets.h"
#include "policy/egress/public_suffix.h"

/* Public resolvers over HTTPS.  A program that asks one of them resolves names which no
 * rule has seen; that gives it no connection, but the names leave. */
static const char *const resolvers[] = {
	"cloudflare-dns.com",
	"one.one.one.one",
	"dns.google",
	"dns.google.com",
	"8888.google",
	"dns.quad9.net",
	"dns9.quad9.net",
	"dns10.quad9.net",
	"dns11.quad9.net",
	"doh.opendns.com",
	"dns.opendns.com",
	"doh.umbrella.com",
	"dns.nextdns.io",
	"dns.adguard-dns.com",
	"unfiltered.adguard-dns.com",
	"doh.cleanbrowsing.org",
	"freedns.controld.com",
	"dns.controld.com",
	"dns.mullvad.net",
	"dns.alidns.com",
	"doh.pub",
	"mozilla.cloudflare-dns.com",
	"chrome.cloudflare-dns.com",
	"security.cloudflare-dns.com",
	"family.cloudflare-dns.com",
};

/* Returns whether the rule is about that one name.  Each launch compares each rule with
 * dozens of names, nearly all of which the first letter tells apart. */
static bool is_name(const struct egress_rule *r, const char *name)
{
	return r->kind == EGRESS_NAME && *name == *r->name.text &&
	       !strcmp(name, r->name.text);
}

static bool is_resolver(const struct egress_rule *r)
{
	if (r->kind == EGRESS_BELOW)
		return !strcmp(r->name.text, "cloudflare-dns.com") ||
		       !strcmp(r->name.text, "quad9.net") ||
		       !strcmp(r->name.text, "nextdns.io");
	for (size_t i = 0; i < ARRAY_LEN(resolvers); i++)
		if (is_name(r, resolvers[i]))
			return true;
	return false;
}

static bool is_wide(const struct egress_rule *r)
{
	const unsigned int bits = r->network.first.family == 4 ? 32 : 128;

	return r->kind == EGRESS_NETWORK && r->network.length < bits / 4;
}

static bool share_a_port(const struct egress_ports *a, const struct egress_ports *b)
{
	return egress_ports_have(a, b->low) || egress_ports_have(a, b->high) ||
	       egress_ports_have(b, a->low) || egress_ports_have(b, a->high);
}

/* Returns whether the earlier rule opens a port of all destinations that the later one
 * denies.  The other order is a way to make exceptions. */
static bool opens_denied(const struct egress_rule *earlier,
			 const struct egress_rule *later)
{
	struct egress_rule with_same_ports = *earlier;

	if (later->verdict != EGRESS_DENY || earlier->verdict == EGRESS_DENY ||
	    !share_a_port(&earlier->ports, &later->ports))
		return false;
	with_same_ports.ports = later->ports;
	return egress_rule_contains(&with_same_ports, later);
}

/* Looks for the first earlier rule that leaves the rule nothing, or less. */
static bool find_shadow(const struct egress_rules *r, size_t at,
			struct egress_warning *ret)
{
	const struct egress_rule *rule = &r->items[at];
	size_t part = EGRESS_NO_RULE;

	for (size_t i = 0; i < at; i++) {
		const struct egress_rule *other = &r->items[i];
		const bool is_same = other->verdict == rule->verdict;
		if (egress_rule_contains(other, rule)) {
			*ret = (struct egress_warning){ is_same ? EGRESS_WARN_REPEATED
								: EGRESS_WARN_UNREACHABLE,
							at, i };
			return true;
		}
		if (part == EGRESS_NO_RULE && opens_denied(other, rule))
			part = i;
	}
	if (part == EGRESS_NO_RULE)
		return false;
	*ret = (struct egress_warning){ EGRESS_WARN_PORTS, at, part };
	return true;
}

/* Returns whether the rule is about a single label that is the name of a preset: no
 * public host has one label alone (host_name.h), and one of a local network is rarely
 * named so. */
static bool is_bare_preset(const struct egress_rule *r)
{
	if (strchr(r->name.text, '.'))
		return false;
	for (const char *const *name = egress_presets(); *name; name++)
		if (is_name(r, *name))
			return true;
	return false;
}

/* Returns whether the rule is about a name by which users mean this host, whose loopback
 * is another target. */
static bool is_host(const struct egress_rule *r)
{
	static const char *const names[] = { "localhost", "host", "host.docker.internal",
					     "host.hutch.internal" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_name(r, names[i]))
			return true;
	return false;
}

/* Returns whether the rule is about all names below one label, which the internet has, or
 * below a domain such as co.uk: anyone can register such a name. */
static bool is_top(const struct egress_rule *r)
{
	struct host_name below;

	if (r->kind != EGRESS_BELOW)
		return false;
	if (strchr(r->name.text, '.'))
		return public_suffix_has(r->name.text);
	AUTO_FREE char *text = text_format("x.%s", r->name.text);
	return host_name_read(&below, text, strlen(text)) == HOST_NAME_GOOD &&
	       !host_name_is_special(&below);
}

/* Looks for what is told of the rule by itself. */
static bool find_alone(const struct egress_rules *r, size_t at,
		       struct egress_warning *ret)
{
	const struct egress_rule *rule = &r->items[at];

	*ret = (struct egress_warning){ EGRESS_WARNINGS, at, EGRESS_NO_RULE };
	if (is_bare_preset(rule))
		ret->kind = EGRESS_WARN_LABEL;
	else if (rule->verdict != EGRESS_ALLOW)
		return false;
	else if (is_host(rule))
		ret->kind = EGRESS_WARN_HOST;
	else if (rule->kind == EGRESS_ANY)
		ret->kind = EGRESS_WARN_ANY;
	else if (is_wide(rule))
		ret->kind = EGRESS_WARN_WIDE;
	else if (is_top(rule))
		ret->kind = EGRESS_WARN_TOP;
	else if (is_resolver(rule))
		ret->kind = EGRESS_WARN_RESOLVER;
	return ret->kind != EGRESS_WARNINGS;
}

static size_t check(const struct egress_rules *r, bool are_compared,
		    struct egress_warning **ret)
{
	struct egress_warning *found = mem_zeroed(r->count, sizeof(*found));
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += (are_compared && find_shadow(r, i, &found[count])) ||
			 find_alone(r, i, &found[count]);
	*ret = found;
	return count;
}

size_t egress_rules_check(const struct egress_rules *r, struct egress_warning **ret)
{
	return check(r, true, ret);
}

size_t egress_rules_check_alone(const struct egress_rules *r, struct egress_warning **ret)
{
	return check(r, false, ret);
}

char *egress_warning_text(const struct egress_rules *r, const struct egress_warning *w)
{
	static const char *const texts[] = {
		[EGRESS_WARN_REPEATED] = "says again what an earlier rule says",
		[EGRESS_WARN_UNREACHABLE] = "is never asked: an earlier rule decides "
					    "otherwise",
		[EGRESS_WARN_PORTS] = "is not asked for some ports: an earlier rule "
				      "decides otherwise",
		[EGRESS_WARN_ANY] = "allows each public name, and so a way out for all "
				    "that the sandbox holds",
		[EGRESS_WARN_WIDE] = "allows a large part of all addresses",
		[EGRESS_WARN_LABEL] =
			"is a name without a dot, which no public host has; "
			"is it the preset",
		[EGRESS_WARN_HOST] =
			"does not lead to this host; @host:PORT is a port of its "
			"loopback",
		[EGRESS_WARN_TOP] =
			"allows each name below that domain, where anyone can "
			"register one",
		[EGRESS_WARN_RESOLVER] = "is a public DNS resolver, to which names that "
					 "no rule has seen leave",
	};
	_Static_assert(ARRAY_LEN(texts) == EGRESS_WARNINGS, "a warning has no text");
	const struct egress_rule *rule = &r->items[w->rule];
	const char *verdict = egress_verdict_word(rule->verdict);

	if (w->kind == EGRESS_WARN_LABEL)
		return text_format("rule %zu, %s %s, %s @%s?", w->rule + 1, verdict,
				   rule->text, texts[w->kind], rule->name.text);
	if (w->other == EGRESS_NO_RULE)
		return text_format("rule %zu, %s %s, %s", w->rule + 1, verdict,
				   rule->text, texts[w->kind]);
	const struct egress_rule *other = &r->items[w->other];
	return text_format("rule %zu, %s %s, %s: rule %zu, %s %s", w->rule + 1, verdict,
			   rule->text, texts[w->kind], w->other + 1,
			   egress_verdict_word(other->verdict), other->text);
}
