#include "egress/gate/refusals.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "egress/gate/flow.h"
#include "egress/gate/gate.h"
#include "egress/verdict.h"

/* --- words -------------------------------------------------------------------------- */

/* Asks the rules: they may also be about another port of the host, or deny it. */
static void judge(struct gate *g, const struct refusal *r, const char *name,
		  struct frames_event *ret)
{
	struct goal goal = { .address = r->to, .port = r->port };
	struct verdict v;

	(void)host_name_read(&goal.name, name, strlen(name)); /* fails without a name */
	verdict_of(&g->rules, &goal, &v);
	ret->reason = v.reason != REASON_NONE ? v.reason : REASON_PORT;
	if (v.rule != EGRESS_NO_RULE)
		ret->rule = (uint32_t)v.rule;
}

static void tell(struct gate *g, const struct refusal *r, uint32_t count)
{
	const uint32_t fake = flow_fake(&r->to);
	const char *name = fake ? dns_names_name(g->names, fake) : NULL;
	struct frames_event event = { .reason = REASON_UDP,
				      .rule = FRAMES_NO_RULE,
				      .name = name ? name : "",
				      .port = r->port,
				      .sni = "",
				      .count = count };

	if (!r->is_udp)
		judge(g, r, event.name, &event);
	event.address.len = r->to.family == 4 ? 4 : 16;
	memcpy(event.address.bytes, r->to.bytes, event.address.len);
	link_tell(g, &event);
}

static void tell_all(struct gate *g)
{
	struct refusals *t = &g->refusals;
	const struct frames_event others = { .reason = REASON_PORT,
					     .rule = FRAMES_NO_RULE,
					     .name = "",
					     .sni = "",
					     .count = t->others };

	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].count)
			tell(g, &t->items[i], t->items[i].count);
	if (t->others)
		link_tell(g, &others);
	t->count = 0;
	t->others = 0;
	t->due = 0;
}

/* --- packets ------------------------------------------------------------------------ */

static bool is_same(const struct refusal *a, const struct refusal *b)
{
	return a->is_udp == b->is_udp && a->port == b->port &&
	       a->to.family == b->to.family &&
	       !memcmp(a->to.bytes, b->to.bytes, a->to.family == 4 ? 4 : 16);
}

void refusals_add(struct gate *g, const struct refusal *r)
{
	struct refusals *t = &g->refusals;

	if (!t->due)
		t->due = g->now + REFUSALS_MS;
	for (size_t i = 0; i < t->count; i++)
		if (is_same(&t->items[i], r)) {
			t->items[i].count++;
			return;
		}
	if (t->count == REFUSALS_MAX) {
		t->others++;
		return;
	}
	t->items[t->count] = *r;
	t->items[t->count++].count = 0;
	tell(g, r, 1);
}

/* Finds the destination among the control messages. */
static bool read_destination(struct msghdr *message, struct refusal *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct sockaddr_in four;
		struct sockaddr_in6 six;
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR) {
			memcpy(&four, CMSG_DATA(c), sizeof(four));
			ret->port = ntohs(four.sin_port);
			return address_from_sockaddr((struct sockaddr *)&four,
						     sizeof(four), &ret->to);
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR) {
			memcpy(&six, CMSG_DATA(c), sizeof(six));
			ret->port = ntohs(six.sin6_port);
			return address_from_sockaddr((struct sockaddr *)&six, sizeof(six),
						     &ret->to);
		}
	}
	return false;
}

/* Returns false if nothing has come. */
static bool read_packet(struct gate *g, size_t socket)
{
	struct refusal r = { .is_udp = socket % 2 };
	union {
		char space[CMSG_SPACE(sizeof(struct sockaddr_in6))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(g->network.refused[socket], &message, MSG_DONTWAIT) < 0)
		return errno == EINTR;
	if (read_destination(&message, &r))
		refusals_add(g, &r);
	return true;
}

void refusals_read(struct gate *g, size_t socket)
{
	/* as many as one turn may take: the socket is level-triggered */
	for (int i = 0; i < 64 && read_packet(g, socket); i++)
		;
}

void refusals_expire(struct gate *g)
{
	if (clock_is_due(g->refusals.due, g->now))
		tell_all(g);
}

void refusals_end(struct gate *g)
{
	for (size_t i = 0; i < GATEWAY_REFUSED; i++)
		if (g->network.refused[i] >= 0)
			refusals_read(g, i);
	tell_all(g);
}
