/* The resolver of the sandbox: answers from the rules and from the table of names, and
 * asks hutch-egress only whether a name exists that a rule allows by exactly that name. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "egress/dns.h"
#include "egress/gate/flow.h"
#include "egress/gate/gate.h"
#include "policy/egress/sandbox_name.h"

/* Where an answer goes. */
struct asker {
	uint32_t flow; /* a connection to port 53; 0: a datagram */
	struct sockaddr_storage peer;
	socklen_t peer_len;
	/* The control message that says which address the datagram was sent to: the
	 * answer comes from there. */
	_Alignas(struct cmsghdr) uint8_t to[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	size_t to_len;
};

/* A question that waits for hutch-egress. */
struct question {
	uint32_t id;
	struct asker asker;
	struct dns_question asked;
	struct host_name name;
};

/* --- sending ------------------------------------------------------------------------ */

/* A guest that does not read its answers loses them, as with any resolver. */
static void send_datagram(struct gate *g, const struct asker *to, uint8_t *bytes,
			  size_t len)
{
	struct iovec piece = { bytes, len };
	struct msghdr message = { .msg_name = (void *)&to->peer,
				  .msg_namelen = to->peer_len,
				  .msg_iov = &piece,
				  .msg_iovlen = 1,
				  .msg_control = (void *)to->to,
				  .msg_controllen = to->to_len };

	(void)sendmsg(g->network.datagrams, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* An answer is shorter than a socket's buffer, so that a part of one is sent only to a
 * guest that asks and does not read: its connection is closed. */
static void send_stream(struct gate *g, uint32_t id, uint8_t *bytes, size_t len)
{
	struct flow *f = flow_find(g, id);

	if (!f || f->state != FLOW_ANSWERS)
		return;
	bytes[0] = (uint8_t)(len >> 8);
	bytes[1] = (uint8_t)len;
	f->used = g->now;
	if (send(f->guest, bytes, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)len + 2)
		(void)shutdown(f->guest, SHUT_RDWR);
}

/* The content of an answer. */
struct reply {
	enum dns_rcode rcode;
	uint32_t address; /* 0: none */
	const char *name; /* NULL: none */
};

static void answer(struct gate *g, const struct asker *to, const struct dns_question *q,
		   const struct reply *r)
{
	uint8_t bytes[2 + DNS_ANSWER_MAX];
	const size_t room = to->flow ? DNS_ANSWER_MAX : dns_udp_room(q);
	const size_t most = room < DNS_ANSWER_MAX ? room : DNS_ANSWER_MAX;
	const uint8_t four[4] = { (uint8_t)(r->address >> 24),
				  (uint8_t)(r->address >> 16), (uint8_t)(r->address >> 8),
				  (uint8_t)r->address };
	size_t len;

	if (r->address)
		len = dns_answer_a(q, four, bytes + 2, most);
	else if (r->name)
		len = dns_answer_ptr(q, r->name, bytes + 2, most);
	else
		len = dns_answer_empty(q, r->rcode, bytes + 2, most);
	if (to->flow)
		send_stream(g, to->flow, bytes, len);
	else if (len)
		send_datagram(g, to, bytes + 2, len);
}

/* --- judging ------------------------------------------------------------------------ */

/* `rule`: the index of the rule that refuses; EGRESS_NO_RULE: none. */
static void tell_refused(struct gate *g, unsigned reason, size_t rule, const char *name)
{
	const struct frames_event event = { .reason = reason,
					    .rule = rule == EGRESS_NO_RULE
							    ? FRAMES_NO_RULE
							    : (uint32_t)rule,
					    .name = name,
					    .sni = "",
					    .count = 1 };

	link_tell(g, &event);
}

/* Answers with the name's address in a pool.  Other types of records than A have none:
 * without HTTPS records the name in a ClientHello stays readable, and clients that prefer
 * IPv6 take IPv4. */
static void answer_address(struct gate *g, const struct asker *to,
			   const struct dns_question *q, enum dns_pool pool,
			   const char *name)
{
	struct reply r = { .rcode = DNS_NOERROR };

	if (q->type == DNS_A || q->type == DNS_ANY) {
		r.address = dns_names_address(g->names, pool, name);
		if (!r.address) {
			tell_refused(g, REASON_LIMIT, EGRESS_NO_RULE, name);
			r.rcode = DNS_SERVFAIL;
		}
	}
	answer(g, to, q, &r);
}

/* Tells whether a question is about a host that a program is about to connect to.  AAAA
 * comes beside A.  SRV has the name of a service, for which no rule can be: apt asks for
 * _http._tcp.HOST first, and takes HOST itself where there is no answer. */
static bool is_of_host(const struct dns_question *q)
{
	return q->type != DNS_AAAA && q->type != DNS_SRV;
}

static void answer_refused(struct gate *g, const struct asker *to,
			   const struct dns_question *q, const struct host_name *name,
			   const struct egress_decision *d)
{
	const struct reply none = { .rcode = DNS_NXDOMAIN };

	if (is_of_host(q))
		tell_refused(g, d->rule == EGRESS_NO_RULE ? REASON_NO_RULE : REASON_RULE,
			     d->rule, name->text);
	if (host_name_is_special(name))
		answer(g, to, q, &none);
	else
		answer_address(g, to, q, DNS_POOL_REFUSED, name->text);
}

/* Asks hutch-egress whether the name exists. */
static void look_up(struct gate *g, const struct asker *to, const struct dns_question *q,
		    const struct host_name *name)
{
	const struct reply failed = { .rcode = DNS_SERVFAIL };
	size_t slot = 0;
	struct err e;

	while (slot < GATE_QUESTIONS_MAX && g->questions[slot])
		slot++;
	const uint32_t id = (++g->turn * GATE_QUESTIONS_MAX + (uint32_t)slot) | 1u << 31;
	if (slot == GATE_QUESTIONS_MAX ||
	    frames_put_resolve(&g->link.out, id, name->text, &e) < 0) {
		answer(g, to, q, &failed);
		return;
	}
	struct question *new = calloc(1, sizeof(*new));
	if (!new)
		abort();
	*new = (struct question){ .id = id, .asker = *to, .asked = *q, .name = *name };
	g->questions[slot] = new;
}

static void judge(struct gate *g, const struct asker *to, const struct dns_question *q,
		  const struct host_name *name)
{
	struct egress_decision d;

	link_catch_up(g);
	switch (egress_rules_lookup(&g->rules, name, &d)) {
	case EGRESS_LOOKUP_REFUSED:
		answer_refused(g, to, q, name, &d);
		return;
	case EGRESS_LOOKUP_ALLOWED:
		if ((q->type == DNS_A || q->type == DNS_ANY) &&
		    g->rules.items[d.rule].kind != EGRESS_LOOPBACK) {
			look_up(g, to, q, name);
			return;
		}
		break;
	case EGRESS_LOOKUP_ASKED:
		/* hutch-egress knows each sandbox, and asks no resolver about it. */
		if ((q->type == DNS_A || q->type == DNS_ANY) &&
		    sandbox_name_is(name->text)) {
			look_up(g, to, q, name);
			return;
		}
		break;
	}
	answer_address(g, to, q, DNS_POOL_ALLOWED, name->text);
}

static void answer_pointer(struct gate *g, const struct asker *to,
			   const struct dns_question *q)
{
	struct reply r = { .rcode = DNS_NXDOMAIN };
	uint8_t bytes[16];

	size_t len = dns_ptr_address(q->name, bytes);
	uint32_t address = len == 4
				   ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
					     (uint32_t)bytes[2] << 8 | bytes[3]
			   : len == 16 ? dns_names_from_v6(bytes)
				       : 0;
	if (address)
		r.name = dns_names_name(g->names, address);
	answer(g, to, q, &r);
}

/* Answers one message, or puts it among those that wait. */
static void handle(struct gate *g, const struct asker *to, const uint8_t *msg, size_t len)
{
	struct dns_question q;
	struct host_name name;

	enum dns_verdict verdict = dns_parse(msg, len, &q);
	const struct reply empty = { .rcode = dns_verdict_rcode(verdict) };
	const struct reply none = { .rcode = DNS_NXDOMAIN };
	if (verdict == DNS_DROP)
		return;
	if (verdict == DNS_ODD_NAME)
		tell_refused(g, REASON_NAME_INVALID, EGRESS_NO_RULE, "");
	if (verdict != DNS_QUESTION)
		answer(g, to, &q, &empty);
	else if (q.type == DNS_PTR)
		answer_pointer(g, to, &q);
	else if (host_name_read(&name, q.name, strlen(q.name)) != HOST_NAME_GOOD)
		answer(g, to, &q, &none);
	else
		judge(g, to, &q, &name);
}

void stub_resolved(struct gate *g, uint32_t id, enum frames_outcome outcome)
{
	static const struct reply empty = { .rcode = DNS_NOERROR },
				  none = { .rcode = DNS_NXDOMAIN };
	struct question **at = &g->questions[id % GATE_QUESTIONS_MAX], *q = *at;
	struct egress_decision d;

	if (!q || q->id != id)
		return;
	*at = NULL;
	/* The rules may have changed since the question; hutch-egress has sent those that
	 * it went by before its outcome. */
	const enum egress_lookup now = egress_rules_lookup(&g->rules, &q->name, &d);
	const bool needs_none = now == EGRESS_LOOKUP_ASKED &&
				!sandbox_name_is(q->name.text);
	if (now == EGRESS_LOOKUP_REFUSED)
		answer_refused(g, &q->asker, &q->asked, &q->name, &d);
	else if (outcome == FRAMES_FOUND || needs_none)
		answer_address(g, &q->asker, &q->asked, DNS_POOL_ALLOWED, q->name.text);
	else
		answer(g, &q->asker, &q->asked,
		       outcome == FRAMES_NXDOMAIN ? &none : &empty);
	free(q);
}

/* --- reading ------------------------------------------------------------------------ */

/* Keeps the address that the datagram was sent to, for the answer. */
static void keep_target(struct asker *a, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		bool is_four = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO;
		bool is_six = c->cmsg_level == IPPROTO_IPV6 &&
			      c->cmsg_type == IPV6_PKTINFO;
		if ((!is_four && !is_six) || c->cmsg_len > sizeof(a->to))
			continue;
		memcpy(a->to, c, c->cmsg_len);
		a->to_len = is_four ? CMSG_SPACE(sizeof(struct in_pktinfo))
				    : CMSG_SPACE(sizeof(struct in6_pktinfo));
		if (is_four) {
			/* The address that was asked is the source now, and no device
			 * is named (ip(7)). */
			struct in_pktinfo *info = (void *)CMSG_DATA((struct cmsghdr *)a->to);
			info->ipi_spec_dst = info->ipi_addr;
			info->ipi_ifindex = 0;
		} else {
			struct in6_pktinfo *info = (void *)CMSG_DATA((struct cmsghdr *)a->to);
			info->ipi6_ifindex = 0;
		}
	}
}

static bool read_datagram(struct gate *g)
{
	uint8_t bytes[DNS_QUERY_MAX + 1], control[256];
	struct asker a = { 0 };
	struct iovec piece = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_name = &a.peer,
				  .msg_namelen = sizeof(a.peer),
				  .msg_iov = &piece,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };

	ssize_t n = recvmsg(g->network.datagrams, &message, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR;
	a.peer_len = message.msg_namelen;
	keep_target(&a, &message);
	handle(g, &a, bytes, (size_t)n);
	return true;
}

void stub_read_datagrams(struct gate *g)
{
	/* as many as one turn may take: the socket is level-triggered */
	for (int i = 0; i < 64 && read_datagram(g); i++)
		;
}

bool stub_read_stream(struct gate *g, struct flow *f)
{
	const struct asker to = { .flow = f->id };
	uint8_t bytes[4096];
	size_t len;
	ssize_t n;

	while ((n = recv(f->guest, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		if (!buffer_append(&f->dns, bytes, (size_t)n))
			return false;
		enum dns_frame frame;
		while ((frame = dns_tcp_next(buffer_data(&f->dns), buffer_len(&f->dns),
					     &len)) == DNS_FRAME_WHOLE) {
			handle(g, &to, buffer_data(&f->dns) + 2, len);
			buffer_consume(&f->dns, 2 + len);
		}
		if (frame == DNS_FRAME_REFUSED)
			return false;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

void stub_done(struct gate *g)
{
	for (size_t i = 0; i < GATE_QUESTIONS_MAX; i++)
		free(g->questions[i]);
}
