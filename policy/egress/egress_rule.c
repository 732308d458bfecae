#include "policy/egress/egress_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define HOST_TARGET "@host"
#define GIT_USER    "git"
#define GIT_PORT    22

const char *egress_verdict_word(enum egress_verdict verdict)
{
	static const char *const words[] = {
		[EGRESS_DENY] = "deny",
		[EGRESS_ALLOW] = "allow",
		[EGRESS_ASK] = "ask",
	};

	return words[verdict];
}

void egress_rule_done(struct egress_rule *r)
{
	free(r->text);
	free(r->why);
	free(r->from);
	*r = (struct egress_rule){ 0 };
}

/* --- ports ------------------------------------------------------------------------ */

static const struct egress_ports web = { 80, 443, true };
static const struct egress_ports all = { 0, UINT16_MAX, false };

bool egress_ports_have(const struct egress_ports *p, uint16_t port)
{
	if (p->is_web)
		return port == p->low || port == p->high;
	return port >= p->low && port <= p->high;
}

bool egress_ports_are_all(const struct egress_ports *p)
{
	return !p->is_web && p->low == 0;
}

bool egress_ports_contain(const struct egress_ports *outer,
			  const struct egress_ports *inner)
{
	if (outer->is_web && !inner->is_web && inner->low != inner->high)
		return false;
	return egress_ports_have(outer, inner->low) &&
	       egress_ports_have(outer, inner->high);
}

static int refuse_port(const char *text, size_t len, struct err *e)
{
	(void)err_set(e, ERR_USAGE, "'%.*s' is no port from 1 to 65535",
		      len < 40 ? (int)len : 40, text);
	return err_remedy(
		e, "HOST:443 is one port, HOST:8000-8010 a range; HOST alone is 80 "
		   "and 443");
}

static int parse_port(const char *text, size_t len, uint16_t *ret, struct err *e)
{
	unsigned int number = 0;

	if (len == 0 || len > 5 || text[0] == '0')
		return refuse_port(text, len, e);
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return refuse_port(text, len, e);
		number = 10 * number + (unsigned int)(text[i] - '0');
	}
	if (number > UINT16_MAX)
		return refuse_port(text, len, e);
	*ret = (uint16_t)number;
	return 0;
}

/* Parses the text behind the ':': "443", "8000-8010" or "*". */
static int parse_ports(const char *text, size_t len, struct egress_ports *ret,
		       struct err *e)
{
	const char *dash = memchr(text, '-', len), *slash = memchr(text, '/', len);
	struct egress_ports p = { 0 };

	if (slash) {
		(void)err_set(e, ERR_UNSUPPORTED, "'%.40s': rules are about TCP alone",
			      text);
		return err_remedy(e, "leave '%.20s' out", slash);
	}
	if (len == 1 && *text == '*') {
		*ret = all;
		return 0;
	}
	size_t first = dash ? (size_t)(dash - text) : len;
	if (parse_port(text, first, &p.low, e) < 0)
		return -1;
	p.high = p.low;
	if (dash && parse_port(dash + 1, len - first - 1, &p.high, e) < 0)
		return -1;
	if (p.low > p.high)
		return err_set(e, ERR_USAGE, "%u-%u is no range of ports", p.low, p.high);
	*ret = p;
	return 0;
}

/* --- names ------------------------------------------------------------------------ */

/* A rule that is being parsed. */
struct draft {
	struct egress_rule rule;
	struct host_name name; /* that of the rule, which gets a copy at last */
};

/* Has the rule own copies of both texts, in one block. */
static void keep_texts(struct egress_rule *r, const char *text, const char *name,
		       size_t name_len)
{
	const size_t size = strlen(text) + 1;
	char *both = mem_new(size + name_len + 1);

	memcpy(both, text, size);
	memcpy(both + size, name, name_len);
	both[size + name_len] = '\0';
	free(r->text);
	r->text = both;
	r->name = (struct egress_name){ both + size, (uint8_t)name_len };
}

static int refuse_star(const char *host, size_t len, struct err *e)
{
	(void)err_set(e, ERR_USAGE,
		      "'%.*s': '*' stands at the begin, with a '.' behind it", (int)len,
		      host);
	return err_remedy(e, "*.example.org is each name below example.org, at any "
			     "depth; example.org itself is a rule of its own");
}

static int refuse_name(enum host_name_fault fault, const char *host, size_t len,
		       struct err *e)
{
	(void)err_set(e, ERR_USAGE, "'%.*s' is no name: %s", len < 100 ? (int)len : 100,
		      host, host_name_fault_text(fault));
	if (fault == HOST_NAME_NUMBER)
		return err_remedy(e, "an address is four decimal numbers, as 10.1.2.3");
	if (fault == HOST_NAME_UNICODE)
		return err_remedy(e, "idn2 NAME prints it, as xn--mnchen-3ya.de");
	const size_t first = strcspn(host, ", ");
	if (first > 0 && first < len)
		return err_remedy(
			e, "each host is a rule of its own: repeat the flag for each");
	return -1;
}

static int parse_name(struct draft *d, const char *host, size_t len, struct err *e)
{
	struct egress_rule *r = &d->rule;
	enum host_name_fault fault;

	r->kind = EGRESS_NAME;
	if (len > 2 && !memcmp(host, "*.", 2)) {
		r->kind = EGRESS_BELOW;
		host += 2;
		len -= 2;
	}
	if (memchr(host, '*', len))
		return refuse_star(host, len, e);
	fault = host_name_read(&d->name, host, len);
	if (fault)
		return refuse_name(fault, host, len, e);
	if (r->kind == EGRESS_NAME && !strcmp(d->name.text, EGRESS_HOST_NAME)) {
		(void)err_set(e, ERR_USAGE, "'%s' is this host, for which no name stands",
			      d->name.text);
		return err_remedy(e, "@host:PORT opens a port of this host's loopback");
	}
	return 0;
}

/* --- addresses -------------------------------------------------------------------- */

static int refuse_bits(const char *text, size_t len, const struct cidr *n,
		       struct err *e)
{
	char network[CIDR_TEXT_MAX];

	(void)err_set(e, ERR_USAGE, "'%.*s' has bits behind its length", (int)len, text);
	return err_remedy(e, "the network is %s", cidr_print(n, network));
}

/* Refuses an allowing rule that would open nothing. */
static int check_closed(const struct egress_rule *r, struct err *e)
{
	const struct address_range *range = address_special(&r->network.first);
	char network[CIDR_TEXT_MAX];

	if (r->verdict == EGRESS_DENY || !range || range->kind != ADDRESS_CLOSED ||
	    !cidr_contains(&range->network, &r->network))
		return 0;
	(void)err_set(e, ERR_USAGE, "%s is closed to rules: %s (%s)",
		      cidr_print(&r->network, network), range->name, range->source);
	return strcmp(range->name, "loopback") != 0
		       ? -1
		       : err_remedy(e, "@host:PORT opens a port of this host's loopback");
}

static int parse_network(struct draft *d, const char *text, size_t len, struct err *e)
{
	struct egress_rule *r = &d->rule;

	r->kind = EGRESS_NETWORK;
	switch (cidr_parse(text, len, &r->network)) {
	case CIDR_NO_ADDRESS:
		(void)err_set(e, ERR_USAGE, "'%.*s' is no address and no network",
			      len < 100 ? (int)len : 100, text);
		return err_remedy(e, "networks are 10.0.0.0/8 and fd00::/64; a path "
				     "cannot be in a rule");
	case CIDR_LENGTH:
		(void)err_set(e, ERR_USAGE,
			      "'%.*s': the length of a network is 0 to 32, or to 128 "
			      "for IPv6",
			      (int)len, text);
		return err_remedy(e, "a port stands behind brackets: [fd00::/64]:443");
	case CIDR_BITS:
		return refuse_bits(text, len, &r->network, e);
	case CIDR_GOOD:
		break;
	}
	return check_closed(r, e);
}

/* --- targets ---------------------------------------------------------------------- */

/* The two parts of a target, borrowed from it. */
struct parts {
	const char *host, *ports; /* `ports` is behind the ':'; NULL: there is none */
	size_t host_len, ports_len;
	bool is_bracketed;
};

/* Splits HOST[:PORTS].  With two colons and no bracket it is an IPv6 address, which has
 * no port. */
static int split(const char *text, struct parts *ret, struct err *e)
{
	const char *colon = strchr(text, ':'), *close = strchr(text, ']');

	*ret = (struct parts){ .host = text, .is_bracketed = *text == '[' };
	if (ret->is_bracketed) {
		if (!close || (close[1] && close[1] != ':'))
			return err_set(e, ERR_USAGE, "'%.100s' is no [ADDRESS]:PORT",
				       text);
		ret->host++;
		ret->host_len = (size_t)(close - text) - 1;
		colon = close[1] ? close + 1 : NULL;
	} else if (colon && strchr(colon + 1, ':')) {
		ret->host_len = strlen(text);
		return 0;
	} else {
		ret->host_len = colon ? (size_t)(colon - text) : strlen(text);
	}
	ret->ports = colon ? colon + 1 : NULL;
	ret->ports_len = colon ? strlen(colon + 1) : 0;
	return 0;
}

static bool is_network(const struct parts *p)
{
	struct address a;

	return p->is_bracketed || memchr(p->host, ':', p->host_len) ||
	       memchr(p->host, '/', p->host_len) ||
	       address_parse(p->host, p->host_len, &a);
}

static int parse_host(struct draft *d, const char *text, struct err *e)
{
	struct egress_rule *r = &d->rule;
	struct parts p;

	if (split(text, &p, e) < 0)
		return -1;
	r->ports = r->verdict == EGRESS_DENY ? all : web;
	if (p.ports && parse_ports(p.ports, p.ports_len, &r->ports, e) < 0)
		return -1;
	if (p.host_len == 1 && *p.host == '*') {
		r->kind = EGRESS_ANY;
		return 0;
	}
	if (p.is_bracketed && !memchr(p.host, ':', p.host_len))
		return err_set(e, ERR_USAGE, "'%.100s': brackets are for IPv6", text);
	return (is_network(&p) ? parse_network : parse_name)(d, p.host, p.host_len, e);
}

/* Parses @host:PORT. */
static int parse_loopback(struct draft *d, const char *text, struct err *e)
{
	struct egress_rule *r = &d->rule;
	const char *ports = text + strlen(HOST_TARGET);

	r->kind = EGRESS_LOOPBACK;
	(void)host_name_read(&d->name, EGRESS_HOST_NAME, strlen(EGRESS_HOST_NAME));
	r->ports = all;
	if (*ports == ':' && ports[1] != '*')
		return parse_ports(ports + 1, strlen(ports + 1), &r->ports, e);
	if (r->verdict == EGRESS_DENY && !*ports)
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "'%.100s': the ports of this host are opened one by one", text);
	return err_remedy(e, "@host:8080 is port 8080 of this host's loopback");
}

/* Parses git@HOST:22. */
static int parse_git(struct draft *d, const char *text, struct err *e)
{
	const struct egress_rule *r = &d->rule;
	const char *at = strchr(text, '@');

	if (!strncmp(text, GIT_USER "@", sizeof(GIT_USER)) &&
	    parse_host(d, at + 1, e) == 0 && r->kind == EGRESS_NAME &&
	    r->ports.low == GIT_PORT && r->ports.high == GIT_PORT)
		return 0;
	(void)err_set(e, ERR_USAGE, "'%.100s': no network shows a user", text);
	return err_remedy(e,
			  "%.*s is the rule; of those with a user, git@HOST:22 alone is "
			  "read, as HOST:22",
			  (int)strcspn(at + 1, ":/@"), at + 1);
}

static int refuse_url(const char *text, struct err *e)
{
	const char *host = strstr(text, "://") + 3;

	(void)err_set(e, ERR_USAGE, "'%.100s' is an address of the web", text);
	return err_remedy(e, "the rule has its host alone: %.*s",
			  (int)strcspn(host, "/?#"), host);
}

static int parse(struct draft *d, const char *target, struct err *e)
{
	const size_t host_len = strlen(HOST_TARGET);

	if (!*target)
		return err_set(e, ERR_USAGE, "a rule names no host");
	if (strlen(target) > EGRESS_TARGET_MAX)
		return err_set(e, ERR_LIMIT, "a rule has at most %d bytes",
			       EGRESS_TARGET_MAX);
	if (strstr(target, "://"))
		return refuse_url(target, e);
	if (!strncmp(target, HOST_TARGET, host_len) &&
	    (!target[host_len] || target[host_len] == ':'))
		return parse_loopback(d, target, e);
	return (strchr(target, '@') ? parse_git : parse_host)(d, target, e);
}

int egress_rule_parse(struct egress_rule *ret, enum egress_verdict verdict,
		      const char *target, struct err *e)
{
	struct draft d = { .rule.verdict = verdict };

	if (parse(&d, target, e) < 0)
		return -1;
	keep_texts(&d.rule, target, d.name.text, d.name.len);
	*ret = d.rule;
	return 0;
}

void egress_rule_set_text(struct egress_rule *r, const char *text)
{
	keep_texts(r, text, r->name.text, r->name.len);
}

int egress_rule_rename(struct egress_rule *r, const char *as, struct err *e)
{
	struct host_name name;
	const enum host_name_fault fault = host_name_read(&name, as, strlen(as));

	if (r->kind != EGRESS_LOOPBACK)
		return err_set(e, ERR_USAGE,
			       "'as' is a name for this host's loopback, of a rule such "
			       "as @host:8080");
	if (fault != HOST_NAME_GOOD)
		return err_set(e, ERR_USAGE, "'%.100s' is no name: %s", as,
			       host_name_fault_text(fault));
	keep_texts(r, r->text, name.text, name.len);
	return 0;
}

/* --- destinations ----------------------------------------------------------------- */

/* Returns the name of the rule as one that is asked for. */
static struct host_name name_of(const struct egress_rule *r)
{
	struct host_name name = { .len = r->name.len };

	memcpy(name.text, r->name.text, r->name.len);
	return name;
}

bool egress_rule_has_name(const struct egress_rule *r, const struct host_name *name)
{
	switch (r->kind) {
	case EGRESS_NAME:
	case EGRESS_LOOPBACK:
		return r->name.len == name->len &&
		       !memcmp(r->name.text, name->text, name->len);
	case EGRESS_BELOW:
		return host_name_is_below(name, r->name.text) &&
		       strcmp(name->text, EGRESS_HOST_NAME) != 0;
	case EGRESS_ANY:
		return !host_name_is_special(name);
	case EGRESS_NETWORK:
		break;
	}
	return false;
}

bool egress_rule_has_address(const struct egress_rule *r, const struct address *a)
{
	if (r->kind != EGRESS_NETWORK)
		return false;
	return r->verdict == EGRESS_DENY ? cidr_has(&r->network, a)
					 : cidr_names(&r->network, a);
}

static bool contains_network(const struct egress_rule *outer,
			     const struct egress_rule *inner)
{
	const struct address_range *range = address_range_of(&inner->network.first);

	if (outer->kind != EGRESS_NETWORK ||
	    !cidr_contains(&outer->network, &inner->network))
		return false;
	if (outer->verdict == EGRESS_DENY)
		return true;
	if (range && cidr_contains(&range->network, &inner->network))
		return cidr_names(&outer->network, &inner->network.first);
	/* An allowing network has public addresses alone here, a denying one has special
	 * ones too, which `outer` does not decide. */
	return inner->verdict != EGRESS_DENY;
}

/* Returns whether all names below the zone of `inner` are destinations of `outer`. */
static bool contains_below(const struct egress_rule *outer,
			   const struct egress_rule *inner)
{
	const struct host_name zone = name_of(inner);
	struct host_name below = { 0 };

	if (outer->kind == EGRESS_BELOW)
		return !strcmp(outer->name.text, zone.text) ||
		       host_name_is_below(&zone, outer->name.text);
	below.len =
		(uint8_t)snprintf(below.text, sizeof(below.text), "a.%.251s", zone.text);
	return outer->kind == EGRESS_ANY && !host_name_is_special(&below);
}

bool egress_rule_contains(const struct egress_rule *outer,
			  const struct egress_rule *inner)
{
	struct host_name name;

	if (!egress_ports_contain(&outer->ports, &inner->ports))
		return false;
	switch (inner->kind) {
	case EGRESS_NAME:
	case EGRESS_LOOPBACK:
		name = name_of(inner);
		return egress_rule_has_name(outer, &name);
	case EGRESS_BELOW:
		return contains_below(outer, inner);
	case EGRESS_ANY:
		return outer->kind == EGRESS_ANY;
	case EGRESS_NETWORK:
		return contains_network(outer, inner);
	}
	return false;
}

/* --- proposals -------------------------------------------------------------------- */

char *egress_rule_propose_name(const struct host_name *name, uint16_t port)
{
	if (!strcmp(name->text, EGRESS_HOST_NAME))
		return text_format(HOST_TARGET ":%u", port);
	return egress_ports_have(&web, port) ? text_copy(name->text)
					     : text_format("%s:%u", name->text, port);
}

char *egress_rule_propose_address(const struct address *a, uint16_t port)
{
	char text[ADDRESS_TEXT_MAX];

	(void)address_print(a, text);
	if (egress_ports_have(&web, port))
		return text_copy(text);
	return text_format(a->family == 4 ? "%s:%u" : "[%s]:%u", text, port);
}
