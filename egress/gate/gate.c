#include "egress/gate/gate.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"
#include "egress/gate/flow.h"
#include "egress/gate/gate_report.h"

#define EVENTS 64

/* Returns whether the socket has what only rules can decide about. */
static bool needs_rules(enum gate_watch kind)
{
	return kind == WATCH_DATAGRAMS || kind == WATCH_LISTENER || kind == WATCH_REFUSED;
}

/* Returns what is watched for.  Without rules the first event of a socket that needs them
 * is told, and no other: nothing is read that would end it. */
static uint32_t events_of(const struct gate *g, enum gate_watch kind)
{
	if (needs_rules(kind))
		return EPOLLIN | (g->has_rules ? 0u : EPOLLONESHOT);
	return kind == WATCH_SUPERVISOR ? EPOLLIN
					: EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
}

int gate_watch(struct gate *g, int fd, enum gate_watch kind, size_t index, struct err *e)
{
	struct epoll_event event = { .events = events_of(g, kind),
				     .data.u64 = (uint64_t)kind << 32 | index };
	const int op = g->has_rules && needs_rules(kind) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	return epoll_ctl(g->epoll, op, fd, &event) < 0 ? err_sys(e, "watch a descriptor")
						       : 0;
}

static int watch_guest(struct gate *g, struct err *e)
{
	if (gate_watch(g, g->network.datagrams, WATCH_DATAGRAMS, 0, e) < 0)
		return -1;
	for (size_t i = 0; i < g->network.count; i++)
		if (gate_watch(g, g->network.listeners[i], WATCH_LISTENER, i, e) < 0)
			return -1;
	for (size_t i = 0; i < GATEWAY_REFUSED; i++)
		if (g->network.refused[i] >= 0 &&
		    gate_watch(g, g->network.refused[i], WATCH_REFUSED, i, e) < 0)
			return -1;
	return 0;
}

int gate_begin(struct gate *g, struct err *e)
{
	g->has_rules = true;
	/* They may have come by themselves, and hello is the first frame. */
	return link_say_hello(g, e) < 0 ? -1 : watch_guest(g, e);
}

int gate_init(struct gate *g, struct gateway *network, int egress, struct err *e)
{
	uint8_t key[DNS_NAMES_KEY];

	*g = (struct gate){ .epoll = epoll_create1(EPOLL_CLOEXEC),
			    .network = *network,
			    .link = { .fd = egress },
			    .supervisor = -1 };
	gateway_init(network);
	g->spare = dup(g->epoll);
	buffer_init(&g->link.in, LINK_MAX);
	buffer_init(&g->link.out, LINK_MAX);
	if (g->epoll < 0 || g->spare < 0)
		return err_sys(e, "make an epoll descriptor");
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return err_sys(e, "get random bytes");
	g->names = dns_names_new(key);
	if (gate_watch(g, egress, WATCH_LINK, 0, e) < 0)
		return -1;
	return watch_guest(g, e);
}

void gate_done(struct gate *g)
{
	for (size_t i = 0; i < GATE_FLOWS_MAX; i++)
		if (g->flows[i])
			flow_end(g, g->flows[i], REASON_EGRESS_LOST);
	stub_done(g);
	stream_pool_done(&g->pool);
	egress_rules_done(&g->rules);
	egress_rules_done(&g->coming);
	dns_names_free(g->names);
	gateway_done(&g->network);
	for (size_t i = 0; i < g->link.fd_count; i++)
		own_close(&g->link.fds[i]);
	buffer_done(&g->link.in);
	buffer_done(&g->link.out);
	own_close(&g->link.fd);
	own_close(&g->spare);
	own_close(&g->epoll);
}

/* --- the loop ----------------------------------------------------------------------- */

/* Moves the flows on that had more to move than one turn allows. */
static void move_the_rest(struct gate *g)
{
	if (!g->has_more)
		return;
	g->has_more = false;
	for (size_t i = 0; i < GATE_FLOWS_MAX; i++)
		if (g->flows[i] && g->flows[i]->has_more)
			flow_move(g, g->flows[i]);
}

/* Handles one event.  Returns 0 at the end, -1 at an error, or 1. */
static int handle(struct gate *g, uint64_t data, struct err *e)
{
	const enum gate_watch kind = (enum gate_watch)(data >> 32);
	const size_t index = (uint32_t)data;

	if (!g->has_rules && needs_rules(kind))
		return link_say_hello(g, e) < 0 ? -1 : 1;
	switch (kind) {
	case WATCH_LINK:
		return link_read(g, e);
	case WATCH_SUPERVISOR:
		g->is_over = true; /* what has come in this turn is handled first */
		return 1;
	case WATCH_DATAGRAMS:
		stub_read_datagrams(g);
		return 1;
	case WATCH_LISTENER:
		flow_accept(g, index);
		return 1;
	case WATCH_REFUSED:
		refusals_read(g, index);
		return 1;
	case WATCH_GUEST:
	case WATCH_UPSTREAM:
		/* An event may be of a flow that has ended in this turn, and whose slot
		 * has a new one: moving that on does no harm. */
		if (g->flows[index])
			flow_move(g, g->flows[index]);
		return 1;
	}
	return 1;
}

static int wait_for(struct gate *g, struct epoll_event *events)
{
	const int64_t now = clock_ms();
	const int64_t due = clock_sooner(g->expiry, g->refusals.due);
	const int timeout = g->has_more ? 0 : clock_wait(due, now);
	int count = epoll_pwait(g->epoll, events, EVENTS, timeout, NULL);

	g->now = clock_ms();
	return count;
}

/* Tells hutch-egress how many bytes each connection has carried. */
static void end_flows(struct gate *g)
{
	for (size_t i = 0; i < GATE_FLOWS_MAX; i++)
		if (g->flows[i])
			flow_end(g, g->flows[i], REASON_NONE);
}

/* Serves one turn.  Returns 0 at the end, -1 at an error, or 1. */
static int turn(struct gate *g, struct err *e)
{
	struct epoll_event events[EVENTS];

	int count = wait_for(g, events);
	if (count < 0 && errno != EINTR)
		return err_sys(e, "wait for events");
	for (int i = 0; i < count; i++) {
		int result = handle(g, events[i].data.u64, e);
		if (result <= 0)
			return result;
	}
	if (g->link.has_ended)
		return link_read(g, e);
	move_the_rest(g);
	flow_expire(g);
	refusals_expire(g);
	if (g->is_over) {
		refusals_end(g);
		end_flows(g);
	}
	return link_flush(g, e) < 0 ? -1 : !g->is_over;
}

void gate_tell_ready(struct gate *g)
{
	const struct gate_report report = { .form = (uint32_t)g->network.form };

	/* A supervisor that has ended meanwhile needs no report. */
	if (g->supervisor >= 0)
		(void)fd_pass_send(g->supervisor, &report, sizeof(report),
				   &g->network.space, g->network.space >= 0);
	g->supervisor = -1;
	own_close(&g->network.space);
}

static void tell_failed(struct gate *g, const struct err *why)
{
	struct gate_report report = { .err = *why };

	if (why->kind == ERR_NONE)
		(void)err_set(&report.err, ERR_GONE, "hutch-egress has ended");
	if (g->supervisor >= 0)
		(void)send(g->supervisor, &report, sizeof(report), MSG_NOSIGNAL);
	g->supervisor = -1;
}

int gate_run(struct gate *g, int supervisor, struct err *e)
{
	int result;

	e->kind = ERR_NONE;
	g->supervisor = supervisor;
	g->now = clock_ms();
	if (gate_watch(g, supervisor, WATCH_SUPERVISOR, 0, e) < 0)
		return -1;
	while ((result = turn(g, e)) > 0)
		;
	tell_failed(g, e);
	return result;
}
