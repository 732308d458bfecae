#include "egress/verdict.h"

const char *goal_print(const struct goal *g, char ret[HOST_NAME_BYTES_MAX + 1])
{
	return g->name.len ? g->name.text : address_print(&g->address, ret);
}

static enum reason reason_of(const struct goal *g, const struct egress_decision *d)
{
	/* A literal address is mostly that of a name that the guest has resolved elsewhere. */
	if (!g->name.len && d->reason == REASON_NO_RULE)
		return REASON_NO_NAME;
	return d->reason;
}

void verdict_of(const struct egress_rules *rules, const struct goal *g,
		struct verdict *ret)
{
	struct egress_decision d;

	if (g->name.len)
		egress_rules_name(rules, &g->name, g->port, &d);
	else
		egress_rules_address(rules, &g->address, g->port, &d);
	*ret = (struct verdict){
		.says = d.verdict,
		.reason = d.verdict == EGRESS_DENY ? reason_of(g, &d) : REASON_NONE,
		.rule = d.rule,
	};
}

bool verdict_is_loopback(const struct egress_rules *rules, const struct verdict *v)
{
	return v->rule < rules->count && rules->items[v->rule].kind == EGRESS_LOOPBACK;
}

/* Returns whether the rule is for one address alone. */
static bool names_alone(const struct egress_rules *rules, const struct egress_decision *d)
{
	const struct egress_rule *rule;

	if (d->verdict == EGRESS_DENY || d->rule >= rules->count)
		return false;
	rule = &rules->items[d->rule];
	return rule->kind == EGRESS_NETWORK &&
	       rule->network.length == (rule->network.first.family == 4 ? 32 : 128);
}

static enum reason judge_own(const struct address *a, verdict_own *own, void *context)
{
	struct address inner[ADDRESS_INNER_MAX];
	size_t count = address_inner(a, inner);

	if (own(context, a) != HOST_ADDRESSES_OTHER) /* layer: egress-own-address */
		return REASON_HOST_ADDRESS;
	for (size_t i = 0; i < count; i++)
		if (own(context, &inner[i]) != HOST_ADDRESSES_OTHER)
			return REASON_HOST_ADDRESS;
	return REASON_NONE;
}

enum reason verdict_address(const struct egress_rules *rules, const struct goal *g,
			    const struct address *a, verdict_own *own, void *context)
{
	struct egress_decision d;

	if (g->name.len)
		egress_rules_resolved(rules, a, g->port, &d);
	else
		egress_rules_address(rules, a, g->port, &d);
	if (d.verdict == EGRESS_DENY)
		return reason_of(g, &d);
	return names_alone(rules, &d) ? REASON_NONE : judge_own(a, own, context);
}

size_t verdict_choose(const struct egress_rules *rules, const struct goal *g,
		      struct resolved *found, verdict_own *own, void *context,
		      enum reason *ret_reason)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		enum reason reason =
			verdict_address(rules, g, &found->addresses[i], own, context);
		if (reason == REASON_NONE)
			found->addresses[kept++] = found->addresses[i];
		else if (i == 0)
			*ret_reason = reason;
	}
	found->count = kept;
	return kept;
}
