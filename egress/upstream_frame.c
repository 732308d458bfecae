#include <string.h>

#include "base/err.h"
#include "base/frame.h"
#include "egress/upstream.h"
#include "policy/egress/sandbox_name.h"

static int take_hello(struct upstream *u, const struct frame *f, struct err *e)
{
	if (u->has_hello)
		return err_set(e, ERR_PROTOCOL, "the gate has said hello twice");
	if (frames_get_hello(f, e) < 0)
		return -1;
	u->has_hello = true;
	return 0;
}

/* --- OPEN --------------------------------------------------------------------------- */

/* Returns whether the name is in the form in which rules are compared; the gate has
 * normalised it. */
static bool read_name(const char *text, struct host_name *ret)
{
	return host_name_read(ret, text, strlen(text)) == HOST_NAME_GOOD &&
	       !strcmp(ret->text, text);
}

static bool read_goal(const struct frames_open *x, struct goal *ret)
{
	struct goal g = { .port = (uint16_t)x->port };

	if (x->address.len)
		g.address = x->address.len == 4 ? address_from_4(x->address.bytes)
						: address_from_6(x->address.bytes);
	if (x->name[0] && !read_name(x->name, &g.name))
		return false;
	*ret = g;
	return true;
}

/* Refuses an OPEN for which the table has no place. */
static void refuse_unknown(struct upstream *u, uint32_t id, const struct frames_open *x)
{
	const struct frames_no no = { REASON_LIMIT, FRAMES_NO_RULE };
	const struct frames_event event = { .reason = REASON_LIMIT,
					    .rule = FRAMES_NO_RULE,
					    .name = x->name,
					    .address = x->address,
					    .port = x->port,
					    .sni = x->sni,
					    .count = 1 };
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	(void)frames_put_no(&frame, id, &no,
			    NULL); /* cannot fail: the values are valid */
	upstream_queue(u, &frame);
	upstream_tell_event(u, &event, false);
}

static int take_open(struct upstream *u, const struct frame *f, struct err *e)
{
	struct frames_open x;

	if (frames_get_open(f, &x, e) < 0)
		return -1;
	if (upstream_find(u, f->id))
		return err_set(e, ERR_PROTOCOL, "connection %u is open already", f->id);
	struct connection *c = upstream_add(u, f->id);
	if (!c) {
		refuse_unknown(u, f->id, &x);
		return 0;
	}
	c->proto = (enum frames_proto)x.proto;
	(void)strncpy(c->sni, x.sni, sizeof(c->sni) - 1);
	(void)strncpy(c->alpn, x.alpn, sizeof(c->alpn) - 1);
	if (read_goal(&x, &c->goal))
		upstream_decide(u, c);
	else
		upstream_refuse(u, c, REASON_NAME_INVALID);
	return 0;
}

static int take_close(struct upstream *u, const struct frame *f, struct err *e)
{
	struct connection *c = upstream_find(u, f->id);
	struct frames_close x;

	if (frames_get_close(f, &x, e) < 0)
		return -1;
	if (!c || (c->state != CONNECTION_OPEN && c->state != CONNECTION_CUT))
		return err_set(e, ERR_PROTOCOL, "connection %u is not open", f->id);
	upstream_end(u, c, &x);
	return 0;
}

/* --- RESOLVE ------------------------------------------------------------------------ */

static void resolved(struct upstream *u, uint32_t id, enum frames_outcome outcome)
{
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	(void)frames_put_resolved(&frame, id, outcome, NULL); /* cannot fail: the values
								* are valid */
	upstream_queue(u, &frame);
}

static struct question *find_question(struct upstream *u, uint32_t id)
{
	for (size_t i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (u->questions[i].id == id)
			return &u->questions[i];
	return NULL;
}

/* A question about another sandbox stays on this host, so that a wildcard's rule is enough
 * for one. */
static void take_resolve_peer(struct upstream *u, uint32_t id, const char *name)
{
	struct question *q = find_question(u, 0);

	if (q && upstream_peer_ask(u, q, name))
		q->id = id;
	else
		resolved(u, id, FRAMES_NXDOMAIN);
}

/* Only a name that a rule allows as it is may leave for a mere question: of others the
 * guest has chosen a part, and DNS would carry it out. */
static int take_resolve(struct upstream *u, const struct frame *f, struct err *e)
{
	struct question *q = find_question(u, 0);
	struct host_name name;
	struct egress_decision d;
	const char *text;

	if (frames_get_resolve(f, &text, e) < 0)
		return -1;
	if (find_question(u, f->id) && f->id)
		return err_set(e, ERR_PROTOCOL, "question %u is open already", f->id);
	if (read_name(text, &name) && sandbox_name_is(name.text) &&
	    egress_rules_lookup(&u->rules, &name, NULL) != EGRESS_LOOKUP_REFUSED) {
		take_resolve_peer(u, f->id, name.text);
		return 0;
	}
	if (!read_name(text, &name) || sandbox_name_is(name.text) ||
	    egress_rules_lookup(&u->rules, &name, &d) != EGRESS_LOOKUP_ALLOWED) {
		resolved(u, f->id, FRAMES_EMPTY);
		return 0;
	}
	if (u->rules.items[d.rule].kind == EGRESS_LOOPBACK) {
		resolved(u, f->id, FRAMES_FOUND);
		return 0;
	}
	struct lookup *lookup = q ? lookups_get(&u->lookups, name.text, u->now) : NULL;
	if (!lookup) {
		resolved(u, f->id, FRAMES_EMPTY);
		return 0;
	}
	*q = (struct question){ .id = f->id, .lookup = lookup };
	u->lookups.has_news |= !lookup->is_pending;
	return 0;
}

static int take_event(struct upstream *u, const struct frame *f, struct err *e)
{
	struct frames_event x;

	if (frames_get_event(f, &x, e) < 0)
		return -1;
	upstream_tell_event(u, &x, true);
	return 0;
}

int upstream_frame(struct upstream *u, const struct frame *f, struct err *e)
{
	if (f->type != FRAMES_HELLO && !u->has_hello)
		return err_set(e, ERR_PROTOCOL, "the gate began without hello");
	switch (f->type) {
	case FRAMES_HELLO:
		return take_hello(u, f, e);
	case FRAMES_OPEN:
		return take_open(u, f, e);
	case FRAMES_CLOSE:
		return take_close(u, f, e);
	case FRAMES_RESOLVE:
		return take_resolve(u, f, e);
	case FRAMES_EVENT:
		return take_event(u, f, e);
	default:
		return err_set(e, ERR_PROTOCOL, "the gate sent a frame of type %u",
			       f->type);
	}
}
