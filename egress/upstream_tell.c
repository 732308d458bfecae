#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "egress/net_line.h"
#include "egress/upstream.h"

/* --- the table ---------------------------------------------------------------------- */

struct connection *upstream_find(const struct upstream *u, uint32_t id)
{
	for (size_t i = 0; i < u->count; i++)
		if (u->connections[i]->id == id)
			return u->connections[i];
	return NULL;
}

struct connection *upstream_add(struct upstream *u, uint32_t id)
{
	if (u->count == UPSTREAM_MAX || u->count + u->extra >= u->fds)
		return NULL;
	struct connection *c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->id = id;
	c->fd = -1;
	c->rule = EGRESS_NO_RULE;
	c->began = u->now;
	for (size_t i = 0; i < DIALER_ADDRESSES_MAX; i++)
		c->fds[i] = -1;
	u->connections[u->count++] = c;
	return c;
}

void upstream_remove(struct upstream *u, struct connection *c)
{
	upstream_dial_stop(u, c);
	lookups_release(c->lookup);
	own_close(&c->fd);
	for (size_t i = 0; i < u->count; i++)
		if (u->connections[i] == c)
			u->connections[i] = u->connections[--u->count];
	free(c);
}

/* --- lines -------------------------------------------------------------------------- */

const char *upstream_rule_text(const struct upstream *u, size_t rule)
{
	return rule < u->rules.count ? u->rules.items[rule].text : NULL;
}

void upstream_reply(struct upstream *u, const char *format, ...)
{
	char line[ERR_TEXT_MAX * 6 + 64]; /* a byte of a text is \u00xx at most */
	va_list args;

	_Static_assert(sizeof(line) <= SUPERVISOR_LINK_REPLY_MAX, "no room is kept");
	va_start(args, format);
	int len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len > 0 && (size_t)len < sizeof(line))
		(void)supervisor_link_reply(&u->supervisor, line, (size_t)len); /* on
			failure the line is counted */
}

void upstream_reply_error(struct upstream *u, const char *text)
{
	AUTO_FREE char *quoted = json_write_quoted(text);

	upstream_reply(u, "{\"error\":{\"text\":%s}}\n", quoted);
}

static void say_line(struct upstream *u, struct net_line *line)
{
	struct buffer b;

	line->time = u->stamp();
	buffer_init(&b, SUPERVISOR_LINK_SEND_MAX);
	net_line_write(&b, line);
	(void)supervisor_link_say(&u->supervisor, (const char *)buffer_data(&b),
				  buffer_len(&b)); /* on failure the line is counted */
	buffer_done(&b);
}

/* Returns the reason that a rule gives for what it denies. */
static const char *why_denied(const struct upstream *u, size_t rule)
{
	return rule < u->rules.count && u->rules.items[rule].verdict == EGRESS_DENY
		       ? u->rules.items[rule].why
		       : NULL;
}

/* Writes what is known of a connection. */
static void tell(struct upstream *u, const struct connection *c, struct net_line *line)
{
	char address[ADDRESS_TEXT_MAX] = "";
	const struct address *a = c->goal.name.len ? &c->peer : &c->goal.address;

	if (a->family)
		line->address = address_print(a, address);
	line->rule = upstream_rule_text(u, c->rule);
	line->why = why_denied(u, c->rule);
	line->name = c->goal.name.text;
	line->port = c->goal.port;
	line->cname = c->cname.text;
	line->sni = c->sni;
	line->alpn = c->alpn;
	line->is_asked = c->is_asked;
	line->id = c->id;
	line->ms = u->now - c->began;
	say_line(u, line);
}

void upstream_tell_event(struct upstream *u, const struct frames_event *x, bool is_gates)
{
	const struct address a = x->address.len == 4 ? address_from_4(x->address.bytes)
						     : address_from_6(x->address.bytes);
	char address[ADDRESS_TEXT_MAX] = "";
	struct net_line line = {
		.verdict = x->reason == REASON_NONE ? "allow" : "deny",
		.rule = upstream_rule_text(u, x->rule),
		.why = why_denied(u, x->rule),
		.reason = x->reason,
		.name = x->name,
		.address = x->address.len ? address_print(&a, address) : NULL,
		.sni = x->sni,
		.port = (uint16_t)x->port,
		.is_gates = is_gates,
		.count = x->count,
	};

	say_line(u, &line);
}

/* --- the ends of connections -------------------------------------------------------- */

void upstream_queue(struct upstream *u, struct buffer *frame)
{
	(void)gate_link_queue(&u->gate, frame, -1); /* fails for descriptors alone */
	buffer_done(frame);
}

static uint32_t rule_number(size_t rule)
{
	return rule == EGRESS_NO_RULE ? FRAMES_NO_RULE : (uint32_t)rule;
}

void upstream_refuse(struct upstream *u, struct connection *c, enum reason reason)
{
	struct net_line line = { .verdict = "deny", .reason = reason };
	const struct frames_no no = { reason, rule_number(c->rule) };
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_no(&frame, c->id, &no, NULL) < 0)
		abort();
	upstream_queue(u, &frame);
	tell(u, c, &line);
	upstream_remove(u, c);
}

/* A connection to another sandbox has no address, which is sent as "::". */
static struct frames_address address_for_frame(const struct address *a)
{
	struct frames_address x = { .len = a->family == 4 ? 4 : 16 };

	memcpy(x.bytes, a->bytes, sizeof(x.bytes));
	return x;
}

void upstream_allow(struct upstream *u, struct connection *c)
{
	struct net_line line = { .verdict = "allow" };
	const struct frames_ok ok = { address_for_frame(&c->peer), c->cname.text,
				      rule_number(c->rule) };
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_ok(&frame, c->id, &ok, NULL) < 0)
		abort();
	bool is_queued = gate_link_queue(&u->gate, &frame, c->fd);
	buffer_done(&frame);
	if (!is_queued) {
		upstream_refuse(u, c, REASON_LIMIT);
		return;
	}
	/* At once, so that the duplicate in the queue goes where descriptors are few. */
	(void)gate_link_send(&u->gate); /* a failure comes again at the end of the turn */
	c->state = CONNECTION_OPEN;
	tell(u, c, &line);
}

void upstream_cut(struct upstream *u, struct connection *c)
{
	struct buffer frame;

	if (c->state == CONNECTION_CUT)
		return;
	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_cut(&frame, c->id, REASON_RULE_REMOVED, NULL) < 0)
		abort();
	upstream_queue(u, &frame);
	c->state = CONNECTION_CUT;
	c->due = u->now + UPSTREAM_CUT_MS;
	c->rule = EGRESS_NO_RULE; /* its rule is gone */
}

void upstream_end(struct upstream *u, struct connection *c, const struct frames_close *x)
{
	struct net_line line = { .verdict = "end",
				 .reason = x->reason,
				 .is_end = true,
				 .up = x->up,
				 .down = x->down };

	if (c->state == CONNECTION_CUT)
		line.reason = REASON_RULE_REMOVED;
	tell(u, c, &line);
	upstream_remove(u, c);
}
