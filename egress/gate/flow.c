#include "egress/gate/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "egress/gate/flow_http.h"
#include "egress/gate/flow_tls.h"
#include "egress/gate/gate.h"
#include "policy/egress/sandbox_name.h"

_Static_assert((GATE_FLOWS_MAX & (GATE_FLOWS_MAX - 1)) == 0, "ids hold the slot");

/* --- the beginning ------------------------------------------------------------------ */

static void tell_refusal(struct gate *g, const struct flow *f, unsigned reason)
{
	struct frames_event event = { .reason = reason,
				      .rule = FRAMES_NO_RULE,
				      .name = f->name,
				      .port = f->port,
				      .sni = f->sni,
				      .count = 1 };

	event.address.len = f->to.family == 4 ? 4 : f->to.family == 6 ? 16 : 0;
	memcpy(event.address.bytes, f->to.bytes, event.address.len);
	link_tell(g, &event);
}

uint32_t flow_fake(const struct address *a)
{
	const uint8_t *b = a->bytes;

	return a->family == 4 ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
					(uint32_t)b[2] << 8 | b[3]
			      : dns_names_from_v6(b);
}

/* Gives the flow the name of the address that the guest has connected to.  Returns false
 * for an address of a pool that has no name. */
static bool name_flow(struct gate *g, struct flow *f)
{
	uint32_t fake = flow_fake(&f->to);
	const char *name = fake ? dns_names_name(g->names, fake) : NULL;

	if (!name)
		return !fake || (fake >> 17) != (198u << 24 | 18u << 16) >> 17;
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	f->fake = dns_names_hold(g->names, fake) ? fake : 0;
	return true;
}

static void ask(struct gate *g, struct flow *f, enum frames_proto proto)
{
	struct frames_open open = { .name = f->name,
				    .port = f->port,
				    .proto = proto,
				    .rule = FRAMES_NO_RULE,
				    .sni = f->sni,
				    .alpn = f->alpn };
	struct err e;

	if (!*f->name) {
		open.address.len = f->to.family == 4 ? 4 : 16;
		memcpy(open.address.bytes, f->to.bytes, open.address.len);
	}
	f->state = FLOW_ASKS;
	if (frames_put_open(&g->link.out, f->id, &open, &e) < 0)
		flow_end(g, f, REASON_LIMIT);
}

/* Decides how the guest's bytes are read.  The flow may be gone afterwards. */
static void begin(struct gate *g, struct flow *f)
{
	f->state = FLOW_READS;
	if (f->port == 53) {
		f->state = FLOW_ANSWERS;
	} else if (sandbox_name_is(f->name)) {
		/* Programs use a shorter name, and the sandbox is one host. */
		f->reading = FLOW_OPAQUE;
		ask(g, f, FRAMES_OPAQUE);
	} else if (*f->name && f->port == 80) {
		flow_http_begin(f);
	} else if (*f->name && f->port == 443) {
		f->reading = FLOW_HELLO;
	} else {
		f->reading = *f->name ? FLOW_FIRST_BYTE : FLOW_OPAQUE;
		ask(g, f, FRAMES_OPAQUE);
	}
}

static struct flow *make_flow(struct gate *g, int guest)
{
	size_t slot = 0;

	while (g->flows[slot])
		slot++;
	struct flow *f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	*f = (struct flow){ .slot = slot,
			    .guest = guest,
			    .upstream = -1,
			    .rule = FRAMES_NO_RULE,
			    .used = g->now };
	f->id = (++g->turn << 10 | (uint32_t)slot) & 0x7fffffff;
	if (!f->id)
		f->id = ++g->turn << 10;
	stream_init(&f->up);
	stream_init(&f->down);
	buffer_init(&f->dns, 2 + DNS_QUERY_MAX);
	g->flows[slot] = f;
	g->flow_count++;
	g->expiry = clock_sooner(g->expiry, g->now + FLOW_READS_MS);
	return f;
}

/* Closes a connection with a reset, so that nothing of it stays in the kernel. */
static void reset(int *fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (*fd >= 0)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	own_close(fd);
}

/* Finds out where the guest meant to connect to. */
static bool read_destination(int guest, struct address *ret_to, uint16_t *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} to;
	socklen_t len = sizeof(to);

	if (getsockname(guest, &to.any, &len) < 0 ||
	    !address_from_sockaddr(&to.any, len, ret_to))
		return false;
	*ret_port =
		ntohs(to.any.sa_family == AF_INET ? to.four.sin_port : to.six.sin6_port);
	return true;
}

static void take(struct gate *g, int guest)
{
	struct err e;

	struct flow *f = make_flow(g, guest);
	if (!read_destination(guest, &f->to, &f->port) ||
	    gate_watch(g, guest, WATCH_GUEST, f->slot, &e) < 0) {
		flow_end(g, f, REASON_LIMIT);
		return;
	}
	if (f->port != 53 && !name_flow(g, f)) {
		tell_refusal(g, f, REASON_NO_NAME);
		flow_end(g, f, REASON_NO_NAME);
		return;
	}
	begin(g, f);
}

/* Where no descriptor is left, the connection is accepted with the one that is kept for
 * that, and reset: in the queue it would wake this loop again and again. */
static void turn_away(struct gate *g, size_t listener)
{
	own_close(&g->spare);
	int guest = accept4(g->network.listeners[listener], NULL, NULL, SOCK_CLOEXEC);
	struct address to;
	uint16_t port = 0;

	(void)read_destination(guest, &to, &port); /* if it fails, the guest has gone */
	const struct frames_event event = { .reason = REASON_LIMIT,
					    .rule = FRAMES_NO_RULE,
					    .name = "",
					    .sni = "",
					    .port = port,
					    .count = 1 };
	link_tell(g, &event);
	reset(&guest);
	g->spare = dup(g->epoll);
}

void flow_accept(struct gate *g, size_t listener)
{
	const int fd = g->network.listeners[listener];

	/* as many as one turn may take: the listener is level-triggered */
	for (int i = 0; i < 64; i++) {
		if (g->flow_count == GATE_FLOWS_MAX) {
			turn_away(g, listener);
			return;
		}
		int guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (guest >= 0)
			take(g, guest);
		else if (errno == EMFILE || errno == ENFILE)
			turn_away(g, listener);
		if (guest < 0 && errno != ECONNABORTED)
			return;
	}
}

/* --- its life ----------------------------------------------------------------------- */

struct flow *flow_find(const struct gate *g, uint32_t id)
{
	struct flow *f = g->flows[id % GATE_FLOWS_MAX];

	return f && f->id == id ? f : NULL;
}

void flow_ask(struct gate *g, struct flow *f)
{
	if (f->upstream < 0)
		ask(g, f,
		    f->reading == FLOW_HTTP	    ? FRAMES_HTTP
		    : f->reading == FLOW_HELLO_SENT ? FRAMES_TLS
						    : FRAMES_OPAQUE);
}

void flow_opened(struct gate *g, struct flow *f, int upstream, uint32_t rule)
{
	struct err e;

	f->upstream = upstream;
	f->rule = rule;
	f->state = FLOW_RUNS;
	f->used = g->now;
	if (gate_watch(g, upstream, WATCH_UPSTREAM, f->slot, &e) < 0)
		flow_end(g, f, REASON_LIMIT);
	else
		flow_move(g, f);
}

void flow_refuse(struct gate *g, struct flow *f, unsigned reason)
{
	tell_refusal(g, f, reason);
	flow_refused(g, f, reason);
}

void flow_refused(struct gate *g, struct flow *f, unsigned reason)
{
	if (f->reading == FLOW_HTTP && f->upstream < 0 && flow_http_forbid(f, reason)) {
		/* A close behind the answer: a reset could overtake it. */
		own_close(&f->guest);
	}
	flow_end(g, f, reason);
}

void flow_end(struct gate *g, struct flow *f, unsigned reason)
{
	const struct frames_close close = { .reason = reason,
					    .up = f->up.bytes,
					    .down = f->down.bytes };
	struct err e;

	/* A full queue of frames ends the gate (link_flush()), so that this result need
	 * not be looked at. */
	if (f->upstream >= 0)
		(void)frames_put_close(&g->link.out, f->id, &close, &e);
	if (reason != REASON_NONE) {
		reset(&f->guest);
		reset(&f->upstream);
	}
	own_close(&f->guest);
	own_close(&f->upstream);
	stream_done(&f->up);
	stream_done(&f->down);
	flow_http_done(f);
	buffer_done(&f->dns);
	if (f->fake)
		dns_names_release(g->names, f->fake);
	g->flows[f->slot] = NULL;
	g->flow_count--;
	free(f);
}

static int64_t due(const struct flow *f)
{
	return f->used + (f->state == FLOW_READS ? FLOW_READS_MS : FLOW_IDLE_MS);
}

void flow_expire(struct gate *g)
{
	if (!clock_is_due(g->expiry, g->now))
		return;
	g->expiry = 0;
	for (size_t i = 0; i < GATE_FLOWS_MAX; i++) {
		struct flow *f = g->flows[i];
		if (f && due(f) <= g->now)
			flow_end(g, f, REASON_LIMIT);
		else if (f)
			g->expiry = clock_sooner(g->expiry, due(f));
	}
}

/* --- bytes -------------------------------------------------------------------------- */

/* Returns whether the flow goes on. */
static bool carry(struct gate *g, struct flow *f, struct stream *s, int from, int to)
{
	const uint64_t before = s->bytes;
	enum stream_news news = stream_move(s, &g->pool, from, to);

	if (s->bytes != before)
		f->used = g->now;
	if (news == STREAM_MORE)
		f->has_more = g->has_more = true;
	if (news != STREAM_BROKE)
		return true;
	flow_end(g, f, REASON_UPSTREAM_FAILED);
	return false;
}

/* Carries the guest's bytes as far as they may go on. */
static bool carry_up(struct gate *g, struct flow *f)
{
	if (f->reading == FLOW_HTTP)
		return flow_http_move(g, f);
	if ((f->reading == FLOW_FIRST_BYTE || f->reading == FLOW_HELLO) &&
	    !flow_tls_read(g, f))
		return false;
	if (f->reading != FLOW_OPAQUE && f->reading != FLOW_HELLO_SENT)
		return true;
	return carry(g, f, &f->up, f->guest, f->upstream);
}

static bool carry_down(struct gate *g, struct flow *f)
{
	const uint32_t id = f->id;

	if (f->reading == FLOW_HELLO_SENT && !flow_tls_read_server(f))
		return true;
	if (f->reading == FLOW_HTTP && !flow_http_read_server(g, f))
		return flow_find(g, id) != NULL;
	return carry(g, f, &f->down, f->upstream, f->guest);
}

/* Returns whether the guest's bytes wait for the server's first ones. */
static bool is_held(const struct flow *f)
{
	return f->reading == FLOW_HELLO_SENT || (f->http && f->http->waits_for_answer);
}

static void run(struct gate *g, struct flow *f)
{
	if (!carry_up(g, f))
		return;
	const bool was_held = is_held(f);
	if (!carry_down(g, f))
		return;
	if (was_held && !is_held(f) && !carry_up(g, f))
		return;
	if (f->down.is_shut && (f->up.is_shut || flow_http_is_over(f)))
		flow_end(g, f, REASON_NONE);
}

void flow_move(struct gate *g, struct flow *f)
{
	f->has_more = false;
	switch (f->state) {
	case FLOW_READS:
		if (f->reading == FLOW_HTTP)
			(void)flow_http_move(g, f);
		else
			(void)flow_tls_read(g, f);
		return;
	case FLOW_ASKS:
		return;
	case FLOW_RUNS:
		run(g, f);
		return;
	case FLOW_ANSWERS:
		if (!stub_read_stream(g, f))
			flow_end(g, f, REASON_NONE);
		return;
	}
}
