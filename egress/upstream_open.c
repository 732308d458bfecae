#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/name_rate.h"
#include "egress/upstream.h"
#include "policy/egress/sandbox_name.h"

static enum host_addresses_answer is_own(void *context, const struct address *a)
{
	const struct upstream *u = context;

	return host_addresses_ask(u->routes, a);
}

/* --- the user's answer -------------------------------------------------------------- */

static void send_question(struct upstream *u, struct ask *ask)
{
	AUTO_FREE char *name = json_write_quoted(ask->goal);
	AUTO_FREE char *line =
		text_format("{\"ask\":{\"id\":%u,\"name\":%s,\"port\":%u}}\n", ask->id,
			    name, ask->port);

	if (!supervisor_link_say(&u->supervisor, line, strlen(line)))
		asks_drop(&u->asks, ask);
}

/* Returns whether the user has allowed the connection; else it waits or is refused. */
static bool ask_user(struct upstream *u, struct connection *c)
{
	char text[HOST_NAME_BYTES_MAX + 1];
	bool is_new;

	if (c->is_asked)
		return true;
	struct ask *ask = asks_get(&u->asks, goal_print(&c->goal, text), c->goal.port,
				   u->now, &is_new);
	if (!ask) {
		upstream_refuse(u, c, REASON_LIMIT);
		return false;
	}
	if (is_new)
		send_question(u, ask);
	if (ask->state == ASK_DENIED) {
		upstream_refuse(u, c, REASON_NOT_ANSWERED);
		return false;
	}
	c->is_asked = ask->state == ASK_ALLOWED;
	c->state = CONNECTION_ASKING;
	return c->is_asked;
}

/* --- the name's addresses ----------------------------------------------------------- */

/* Returns whether a name may be looked up: the guest chose a part of it if the rule has a
 * wildcard, and there is a limit to how much may leave in names. */
static bool may_leave(struct upstream *u, const struct connection *c)
{
	enum egress_kind kind = u->rules.items[c->rule].kind;

	if ((kind != EGRESS_BELOW && kind != EGRESS_ANY) ||
	    known_names_has(&u->known, c->goal.name.text))
		return true;
	if (!name_rate_take(&u->rates[c->rule], u->now))
		return false;
	known_names_add(&u->known, c->goal.name.text);
	return true;
}

static void take_answer(struct upstream *u, struct connection *c)
{
	struct resolved found = c->lookup->found;
	enum reason reason = REASON_UPSTREAM_FAILED;

	lookups_release(c->lookup);
	c->lookup = NULL;
	c->cname = found.cname;
	/* For the line about a refusal. */
	if (found.count)
		c->peer = found.addresses[0];
	if (found.status != RESOLVED_FOUND ||
	    !verdict_choose(&u->rules, &c->goal, &found, is_own, u, &reason))
		upstream_refuse(u, c, reason);
	else
		upstream_dial(u, c, found.addresses, found.count);
}

static void look_up(struct upstream *u, struct connection *c)
{
	if (may_leave(u, c))
		c->lookup = lookups_get(&u->lookups, c->goal.name.text, u->now);
	if (!c->lookup) {
		upstream_refuse(u, c, REASON_LIMIT);
		return;
	}
	c->state = CONNECTION_LOOKING;
	if (!c->lookup->is_pending)
		take_answer(u, c);
}

/* --- the decision ------------------------------------------------------------------- */

/* Compares the name in TLS with the connection's, as the gate has done before. */
static enum reason judge_tls(const struct upstream *u, const struct connection *c)
{
	if (c->proto != FRAMES_TLS || !c->goal.name.len || c->is_loopback || c->is_peer)
		return REASON_NONE;
	if (!c->sni[0])
		return u->rules.items[c->rule].has_any_tls ? REASON_NONE
							   : REASON_SNI_MISSING;
	return strcasecmp(c->sni, c->goal.name.text) == 0 ? REASON_NONE
							  : REASON_SNI_MISMATCH;
}

static void begin(struct upstream *u, struct connection *c)
{
	static const struct address loopback[] = {
		{ .family = 4, .bytes = { 127, 0, 0, 1 } },
		{ .family = 6, .bytes = { [15] = 1 } },
	};

	if (c->is_loopback) {
		upstream_dial(u, c, loopback, ARRAY_LEN(loopback));
		return;
	}
	if (c->is_peer) {
		upstream_peer_connect(u, c);
		return;
	}
	if (c->goal.name.len) {
		look_up(u, c);
		return;
	}
	enum reason reason =
		verdict_address(&u->rules, &c->goal, &c->goal.address, is_own, u);
	if (reason != REASON_NONE)
		upstream_refuse(u, c, reason);
	else
		upstream_dial(u, c, &c->goal.address, 1);
}

void upstream_decide(struct upstream *u, struct connection *c)
{
	struct verdict v;

	upstream_dial_stop(u, c);
	lookups_release(c->lookup);
	c->lookup = NULL;
	verdict_of(&u->rules, &c->goal, &v);
	c->rule = v.rule;
	if (v.says == EGRESS_DENY) {
		upstream_refuse(u, c, v.reason);
		return;
	}
	c->is_loopback = verdict_is_loopback(&u->rules, &v);
	c->is_peer = sandbox_name_is(c->goal.name.text);
	enum reason reason = judge_tls(u, c);
	if (reason != REASON_NONE)
		upstream_refuse(u, c, reason);
	else if (v.says != EGRESS_ASK || ask_user(u, c))
		begin(u, c);
}

/* --- answers ------------------------------------------------------------------------ */

static void answer_question(struct upstream *u, struct question *q)
{
	static const enum frames_outcome outcomes[] = {
		[RESOLVED_FAILED] = FRAMES_EMPTY,
		[RESOLVED_FOUND] = FRAMES_FOUND,
		[RESOLVED_EMPTY] = FRAMES_EMPTY,
		[RESOLVED_NXDOMAIN] = FRAMES_NXDOMAIN,
	};
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_resolved(&frame, q->id, outcomes[q->lookup->found.status], NULL) <
	    0)
		abort();
	upstream_queue(u, &frame);
	lookups_release(q->lookup);
	*q = (struct question){ 0 };
}

static void settle_lookups(struct upstream *u)
{
	for (size_t i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (u->questions[i].lookup && !u->questions[i].lookup->is_pending)
			answer_question(u, &u->questions[i]);
	/* From the last to the first, since a connection that is removed is replaced by
	 * the last one. */
	for (size_t i = u->count; i-- > 0;)
		if (u->connections[i]->state == CONNECTION_LOOKING &&
		    !u->connections[i]->lookup->is_pending)
			take_answer(u, u->connections[i]);
}

static void settle_asks(struct upstream *u)
{
	for (size_t i = u->count; i-- > 0;)
		if (u->connections[i]->state == CONNECTION_ASKING)
			upstream_decide(u, u->connections[i]);
	asks_forget(&u->asks);
}

void upstream_settle(struct upstream *u)
{
	if (asks_has_news(&u->asks))
		settle_asks(u);
	if (lookups_has_news(&u->lookups))
		settle_lookups(u);
}
