#include "sandbox/explain/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/egress/egress_rules.h"
#include "policy/egress/sandbox_name.h"
#include "policy/egress_policy.h"
#include "policy/policy.h"
#include "sandbox/explain/why_parts.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/plan.h"

static char *network_line(const struct why *w)
{
	return text_format("--network %s", policy_network_word(w->policy));
}

static void connect_abstract(const struct why *w, const char *where, struct answer *ret)
{
	answer_set(ret, false,
		   !policy_shares_network(w->policy) ? "network"
		   : w->plan->hides_abstract	     ? "landlock"
						     : "seccomp",
		   text_format("%s is one of this host, and abstract sockets stay inside",
			       where));
	ret->line = network_line(w);
	ret->change = text_copy("a socket in a folder: -v DIR:DIR");
}

static void connect_unix(const struct why *w, const char *path, struct answer *ret)
{
	struct found f;

	if (w->plan->refuses_unix) {
		answer_set(
			ret, false, "seccomp",
			text_copy(
				"sockets of the kind AF_UNIX are refused: in a shared network the abstract ones of others could be reached, which this kernel cannot prevent otherwise"));
		ret->line = network_line(w);
		ret->change = text_copy("--network none, or kernel 6.12");
		return;
	}
	if (*path == '@') {
		connect_abstract(w, path, ret);
		return;
	}
	if (!why_find(w, path, &f, ret)) {
		found_done(&f);
		return;
	}
	if (!S_ISSOCK(f.st.st_mode))
		answer_set(ret, false, "files", text_format("%s is no socket", f.path));
	else if (!lookup_may(w->lookup, &f, W_OK))
		why_say_closed(w, &f, "connected to", ret);
	else
		answer_set(ret, true, "mounts",
			   text_format("%s can be connected to", f.path));
	if (!ret->line)
		ret->line = why_line(w, &f);
	found_done(&f);
}

/* --- to connect by TCP ------------------------------------------------------------ */

/* A destination: a name, or an address. */
struct destination {
	const char *text; /* "HOST:PORT", as it was asked for */
	bool is_address;
	struct host_name name;
	struct address address;
	enum host_name_fault fault; /* of the name, if it is neither */
	uint16_t port;
};

static bool read_port(const char *text, uint16_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || port < 1 || port > UINT16_MAX)
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* Reads "HOST:PORT".  Returns false if it has another form. */
static bool read_destination(const char *where, struct destination *ret)
{
	const char *colon = strrchr(where, ':'), *host = where;

	*ret = (struct destination){ .text = where };
	if (!colon || colon == where || !read_port(colon + 1, &ret->port))
		return false;
	size_t len = (size_t)(colon - where);
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	ret->is_address = address_parse(host, len, &ret->address);
	if (!ret->is_address)
		ret->fault = host_name_read(&ret->name, host, len);
	return true;
}

static bool is_loopback(const struct destination *d)
{
	static const struct address six = { 6, { [15] = 1 } };

	if (!d->is_address)
		return !d->fault && !strcmp(d->name.text, "localhost");
	return (d->address.family == 4 && d->address.bytes[0] == 127) ||
	       address_is_equal(&d->address, &six);
}

static bool has_listener(const struct why_live *live, uint16_t port)
{
	bool found = live->has_all_ports;

	for (size_t i = 0; i < live->port_count && !found; i++)
		found = live->ports[i] == port;
	return found;
}

/* Returns how a rule for the target is made, allocated.  A sandbox that lives has a
 * network of rules or none, and listeners at the ports that it was made with. */
static char *way_to_allow(const struct why *w, const char *target, uint16_t port)
{
	if (!w->live)
		return text_format("--allow %s", target);
	if (w->policy->network == NETWORK_ALLOW && has_listener(w->live, port))
		return text_format("hutch net %s allow %s", w->live->name, target);
	return text_format("another sandbox, made with --allow %s", target);
}

/* Returns the change that would allow the connection, allocated; NULL: none would. */
static char *proposal(const struct why *w, const struct destination *d)
{
	struct egress_rule rule;
	struct err e;

	if (!d->is_address && d->fault)
		return NULL;
	AUTO_FREE char *target =
		d->is_address ? egress_rule_propose_address(&d->address, d->port)
			      : egress_rule_propose_name(&d->name, d->port);
	if (egress_rule_parse(&rule, EGRESS_ALLOW, target, &e) < 0)
		return NULL;
	egress_rule_done(&rule);
	return way_to_allow(w, target, d->port);
}

/* Returns what says the rule of the policy, allocated. */
static char *origin(const struct why *w, size_t index)
{
	char *line = egress_policy_line(w->policy->egress.items[index]);

	if (!w->live)
		return line;
	AUTO_FREE char *flag = line;
	return text_format("rule %zu of hutch net %s ls (%s)", index + 1, w->live->name,
			   flag);
}

/* Adds the policy's rules.  They were checked before: none fails. */
static void read_rules(const struct why *w, struct egress_rules *ret)
{
	struct err e;

	for (size_t i = 0; i < w->policy->egress.count; i++) {
		AUTO_FREE char *line = origin(w, i);
		(void)egress_rules_add_json(ret, w->policy->egress.items[i], line, &e);
	}
}

/* Says which rule decides. */
static void say_rule(const struct why *w, const struct destination *d,
		     const struct egress_rule *rule, struct answer *ret)
{
	static const struct {
		const char *text, *change;
	} rows[] = {
		[EGRESS_ALLOW] = { "is allowed by a rule", NULL },
		[EGRESS_DENY] = { "is refused by a rule",
				  "a rule that allows it, before that rule" },
		[EGRESS_ASK] = { "is asked about, and refused where no client answers",
				 "a yes to the question: hutch net NAME answer" },
	};
	const char *change = rows[rule->verdict].change;
	/* `hutch net` puts a rule before all others */
	const bool is_live_denial = w->live && rule->verdict == EGRESS_DENY;

	answer_set(ret, rule->verdict == EGRESS_ALLOW, "network",
		   text_format("%s %s%s%s", d->text, rows[rule->verdict].text,
			       rule->why ? ": " : "", rule->why ? rule->why : ""));
	ret->line = text_copy(rule->from);
	ret->change = is_live_denial ? proposal(w, d) : change ? text_copy(change) : NULL;
}

/* Says that no rule decides. */
static void say_no_rule(const struct why *w, const struct destination *d,
			const struct egress_rule *nearest, struct answer *ret)
{
	const char *fault = !d->is_address && d->fault ? host_name_fault_text(d->fault)
						       : NULL;

	if (fault)
		answer_set(ret, false, "network",
			   text_format("%s has no name that a rule allows: %s", d->text,
				       fault));
	else
		answer_set(ret, false, "network",
			   text_format(nearest ? "%s: rules are about other ports of it"
					       : "%s is refused: no rule allows it",
				       d->text));
	ret->line = nearest ? text_copy(nearest->from) : network_line(w);
	ret->change = proposal(w, d);
}

static void judge_by_rules(const struct why *w, const struct destination *d,
			   struct answer *ret)
{
	struct egress_rules rules = { 0 };
	struct egress_decision by = { EGRESS_DENY, REASON_NO_RULE, EGRESS_NO_RULE };

	read_rules(w, &rules);
	if (d->is_address)
		egress_rules_address(&rules, &d->address, d->port, &by);
	else if (!d->fault)
		egress_rules_name(&rules, &d->name, d->port, &by);
	const struct egress_rule *rule =
		by.rule == EGRESS_NO_RULE ? NULL : &rules.items[by.rule];
	if (rule && by.reason == REASON_RULE)
		say_rule(w, d, rule, ret);
	else
		say_no_rule(w, d, rule, ret);
	egress_rules_done(&rules);
}

static void say_none(const struct why *w, const struct destination *d, struct answer *ret)
{
	answer_set(ret, false, "network",
		   text_format("%s cannot be reached: there is no network but loopback",
			       d->text));
	ret->line = network_line(w);
	ret->change = proposal(w, d);
	if (!ret->change)
		ret->change =
			text_copy(w->live ? "another sandbox, made with --network host"
					  : "--network host");
}

static void connect_tcp(const struct why *w, const struct destination *d,
			struct answer *ret)
{
	const enum network network = w->policy->network;
	const char *yes =
		network == NETWORK_HOST ? "is reached as from this host"
		: network == NETWORK_NS
			? "is reached as from other programs in that network namespace"
		: is_loopback(d)
			? "is the sandbox's own, where only what runs inside answers"
		: network == NETWORK_ALLOW && d->port == 53
			? "is hutch-gate, which answers questions for names (DNS)"
			: NULL;

	if (yes) {
		answer_set(ret, true, "network", text_format("%s %s", d->text, yes));
		ret->line = network_line(w);
	} else if (network == NETWORK_ALLOW) {
		judge_by_rules(w, d, ret);
	} else {
		say_none(w, d, ret);
	}
}

char *why_host(const char *where)
{
	const char *scheme = strstr(where, "://");

	if (scheme)
		where = scheme + strlen("://");
	return text_format("%.*s", (int)strcspn(where, "/:"), where);
}

/* Tries a name without a dot as that of a sandbox in each network that the sandbox has
 * joined, as resolv.conf(5) inside has them searched. */
static void connect_short(const struct why *w, const struct destination *d,
			  struct answer *ret)
{
	const struct list *joins = &w->policy->joins;

	if (d->is_address || d->fault || strchr(d->name.text, '.'))
		return;
	for (size_t i = 0; i < joins->count && !ret->is_yes; i++) {
		struct destination full;
		AUTO_FREE char *where = text_format("%s.%s." SANDBOX_NAME_ZONE ":%u",
						    d->name.text, joins->items[i],
						    d->port);
		if (read_destination(where, &full))
			connect_tcp(w, &full, ret);
	}
}

int why_connect(const struct why *w, const char *where, struct answer *ret)
{
	struct destination d;

	if (!strncmp(where, "unix:", 5) && where[5]) {
		connect_unix(w, where + 5, ret);
		return 0;
	}
	if (!read_destination(where, &d))
		return -1;
	connect_tcp(w, &d, ret);
	if (!ret->is_yes)
		connect_short(w, &d, ret);
	return 0;
}
