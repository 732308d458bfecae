#include <stdlib.h>
#include <string.h>

#include "egress/name_rate.h"
#include "egress/upstream.h"

/* --- rules -------------------------------------------------------------------------- */

/* Queues a rule.  One of a preset is sent as itself, so that both processes number the
 * rules alike.  `frame` is empty, and is empty afterwards. */
static void send_rule(struct upstream *u, size_t index, struct buffer *frame)
{
	const struct egress_rule *rule = &u->rules.items[index];
	const char *preset = strstr(rule->text, " (@");
	const size_t len = preset ? (size_t)(preset - rule->text) : strlen(rule->text);
	const bool is_renamed = rule->kind == EGRESS_LOOPBACK &&
				strcmp(rule->name.text, EGRESS_HOST_NAME) != 0;
	char target[EGRESS_TARGET_MAX + 1];
	const struct frames_set set = { .generation = u->generation,
					.index = (uint32_t)index,
					.count = (uint32_t)u->rules.count,
					.verdict = rule->verdict,
					.has_any_tls = rule->has_any_tls,
					.target = target,
					.as = is_renamed ? rule->name.text : "" };

	memcpy(target, rule->text, len);
	target[len] = '\0';
	if (frames_put_set(frame, &set, NULL) < 0)
		abort(); /* a target has EGRESS_TARGET_MAX bytes of a rule's */
	(void)gate_link_queue(&u->gate, frame, -1); /* fails for descriptors alone */
}

static void send_rules(struct upstream *u)
{
	const struct frames_set none = { .generation = u->generation,
					 .target = "",
					 .as = "" };
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	for (size_t i = 0; i < u->rules.count; i++)
		send_rule(u, i, &frame);
	if (!u->rules.count && frames_put_set(&frame, &none, NULL) == 0)
		(void)gate_link_queue(&u->gate, &frame, -1);
	buffer_done(&frame);
}

static void take_rules(struct upstream *u, struct egress_rules *rules)
{
	egress_rules_done(&u->rules);
	u->rules = *rules;
	*rules = (struct egress_rules){ 0 };
	free(u->rates);
	u->rates = calloc(u->rules.count + 1, sizeof(*u->rates));
	if (!u->rates)
		abort();
	u->generation++;
	send_rules(u);
}

/* Returns whether a connected socket may stay under the present rules. */
static bool may_stay(struct upstream *u, struct connection *c)
{
	struct verdict v;
	struct egress_decision d;

	verdict_of(&u->rules, &c->goal, &v);
	if (v.says == EGRESS_DENY || (v.says == EGRESS_ASK && !c->is_asked) ||
	    c->is_loopback != verdict_is_loopback(&u->rules, &v))
		return false;
	c->rule = v.rule;
	if (c->is_loopback || c->is_peer || !c->goal.name.len)
		return true;
	egress_rules_resolved(&u->rules, &c->peer, c->goal.port, &d);
	return d.verdict != EGRESS_DENY;
}

/* Judges all connections anew; returns how many were cut. */
static size_t judge_all(struct upstream *u)
{
	size_t cut = 0;

	for (size_t i = u->count; i-- > 0;) {
		struct connection *c = u->connections[i];
		if (c->state == CONNECTION_CUT)
			continue;
		if (c->state != CONNECTION_OPEN) {
			upstream_decide(u, c);
		} else if (!may_stay(u, c)) {
			upstream_cut(u, c);
			cut++;
		}
	}
	return cut;
}

/* --- orders ------------------------------------------------------------------------- */

static void take_settings(struct upstream *u, struct order *o)
{
	if (u->generation) {
		upstream_reply_error(u, "settings: they were sent before");
		return;
	}
	u->asks.wait_ms = o->ask_ms;
	take_rules(u, &o->rules);
	upstream_reply(u, "{\"ready\":{\"rules\":%zu}}\n", u->rules.count);
}

static void take_set(struct upstream *u, struct order *o)
{
	if (!u->generation) {
		upstream_reply_error(u, "set: there are no settings yet");
		return;
	}
	take_rules(u, &o->rules);
	size_t cut = judge_all(u);
	upstream_reply(u, "{\"set\":{\"rules\":%zu,\"cut\":%zu}}\n", u->rules.count, cut);
}

void upstream_order(struct upstream *u, struct order *o)
{
	switch (o->kind) {
	case ORDER_SETTINGS:
		take_settings(u, o);
		break;
	case ORDER_SET:
		take_set(u, o);
		break;
	case ORDER_ANSWER:
		if (asks_answer(&u->asks, o->id, o->is_allowed, o->is_for_sandbox))
			upstream_reply(u, "{\"answered\":{\"id\":%u}}\n", o->id);
		else
			upstream_reply_error(u, "answer: no such question waits");
		break;
	case ORDER_SYNC:
		u->sync = o->id; /* of two that wait, the earlier one has been given up */
		break;
	case ORDER_LIST:
		upstream_list(u);
		break;
	}
}
