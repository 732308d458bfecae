/* Connections to other sandboxes of a network (--network-join): hutch-egress may open no
 * unix socket, so it asks a process that may (peer_frames.h). */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd_pass.h"
#include "base/own.h"
#include "egress/peer_frames.h"
#include "egress/upstream.h"

/* Sends a request; returns its ticket, or 0: it cannot be answered. */
static uint32_t ask(struct upstream *u, const char *name, uint16_t port)
{
	struct peer_request r = { .port = port };

	if (u->peers < 0 || !sandbox_name_read(name, &r.name))
		return 0;
	u->ticket += u->ticket == UINT32_MAX ? 2 : 1;
	r.ticket = u->ticket;
	return send(u->peers, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL) ==
			       (ssize_t)sizeof(r)
		       ? r.ticket
		       : 0;
}

void upstream_peer_connect(struct upstream *u, struct connection *c)
{
	c->ticket = ask(u, c->goal.name.text, c->goal.port);
	if (!c->ticket) {
		upstream_refuse(u, c, REASON_UPSTREAM_FAILED);
		return;
	}
	c->state = CONNECTION_JOINING;
	c->due = u->now + DIALER_MS;
}

bool upstream_peer_ask(struct upstream *u, struct question *q, const char *name)
{
	q->ticket = ask(u, name, 0);
	return q->ticket != 0;
}

static void answer(struct upstream *u, struct question *q, bool has_found)
{
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	if (frames_put_resolved(&frame, q->id, has_found ? FRAMES_FOUND : FRAMES_NXDOMAIN,
				NULL) < 0)
		abort();
	upstream_queue(u, &frame);
	*q = (struct question){ 0 };
}

static void settle(struct upstream *u, struct connection *c, int *fd)
{
	if (*fd < 0 || *fd >= UPSTREAM_FDS_MAX) {
		upstream_refuse(u, c, REASON_UPSTREAM_FAILED);
		return;
	}
	c->fd = fd_take(fd);
	upstream_dial_options(c->fd);
	upstream_allow(u, c);
}

/* Handles a reply.  One whose connection has gone, or was judged anew since, finds no
 * owner, and its descriptor is closed.  The questions that DNS answers have ticket 0. */
static void take_reply(struct upstream *u, const struct peer_reply *r, int *fd)
{
	if (!r->ticket)
		return;
	for (size_t i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (u->questions[i].id && u->questions[i].ticket == r->ticket) {
			answer(u, &u->questions[i], r->has_found);
			return;
		}
	for (size_t i = 0; i < u->count; i++)
		if (u->connections[i]->state == CONNECTION_JOINING &&
		    u->connections[i]->ticket == r->ticket) {
			settle(u, u->connections[i], fd);
			return;
		}
}

/* The other process has ended: no sandbox is reached any more. */
static void lose(struct upstream *u)
{
	own_close(&u->peers);
	for (size_t i = 0; i < UPSTREAM_QUESTIONS_MAX; i++)
		if (u->questions[i].id && u->questions[i].ticket)
			answer(u, &u->questions[i], false);
	for (size_t i = u->count; i-- > 0;)
		if (u->connections[i]->state == CONNECTION_JOINING)
			upstream_refuse(u, u->connections[i], REASON_UPSTREAM_FAILED);
}

void upstream_peer_ready(struct upstream *u)
{
	/* as many as one turn may take: the socket is level-triggered */
	for (int i = 0; u->peers >= 0 && i < UPSTREAM_FRAMES; i++) {
		struct peer_reply r = { 0 };
		int got = -1;
		ssize_t n = fd_pass_receive(u->peers, &r, sizeof(r), &got);
		AUTO_CLOSE int fd = got; /* FD_PASS_LOST is as good as none */
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == (ssize_t)sizeof(r))
			take_reply(u, &r, &fd);
		else
			lose(u);
	}
}
