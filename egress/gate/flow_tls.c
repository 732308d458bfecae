#include "egress/gate/flow_tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/client_hello.h"
#include "egress/gate/flow.h"
#include "egress/gate/gate.h"

/* A record that a client of TLS 1.3 sends before its second ClientHello, and that means
 * nothing (RFC 8446, appendix D.4). */
static const uint8_t change_cipher_spec[] = { 20, 3, 3, 0, 1, 1 };

/* Returns the rule that decides about the connection; NULL: there is none. */
static const struct egress_rule *rule_of(const struct gate *g, const struct flow *f)
{
	struct egress_decision d;
	struct host_name name;

	if (host_name_read(&name, f->name, strlen(f->name)) != HOST_NAME_GOOD)
		return NULL;
	egress_rules_name(&g->rules, &name, f->port, &d);
	return d.rule != EGRESS_NO_RULE ? &g->rules.items[d.rule] : NULL;
}

/* Returns whether that rule accepts a hello without a name. */
static bool accepts_any(const struct gate *g, const struct flow *f)
{
	const struct egress_rule *rule = rule_of(g, f);

	return rule && rule->has_any_tls;
}

/* Returns whether other bytes than TLS may go on.  A rule without a port means the web:
 * on its port for TLS, other bytes could bring a request past the check of the name, such
 * as a line of the PROXY protocol with a hello behind it. */
static bool accepts_other_bytes(const struct gate *g, const struct flow *f)
{
	const struct egress_rule *rule = rule_of(g, f);

	return !f->is_retried && !(rule && rule->ports.is_web);
}

/* Returns why the hello is refused; REASON_NONE: it is not. */
static unsigned judge(const struct gate *g, struct flow *f,
		      const struct client_hello *hello)
{
	struct host_name asked;

	(void)snprintf(f->alpn, sizeof(f->alpn), "%s", hello->alpn);
	if (!hello->has_name)
		return accepts_any(g, f) ? REASON_NONE : REASON_SNI_MISSING;
	/* A name that is too long to be one is cut, and refused below. */
	(void)snprintf(f->sni, sizeof(f->sni), "%.*s", FRAMES_NAME_MAX, hello->name);
	if (host_name_read(&asked, hello->name, strlen(hello->name)) != HOST_NAME_GOOD ||
	    strcmp(asked.text, f->name) != 0) /* layer: gate-sni */
		return REASON_SNI_MISMATCH;
	return REASON_NONE;
}

/* The guest's first bytes are `len` of a hello: these may go on, and no more. */
static void pass_hello(struct gate *g, struct flow *f, size_t len)
{
	f->up.limit = f->up.bytes + f->up.held + len;
	f->reading = FLOW_HELLO_SENT;
	flow_ask(g, f);
}

static void pass_all(struct gate *g, struct flow *f)
{
	f->up.limit = UINT64_MAX;
	f->reading = FLOW_OPAQUE;
	flow_ask(g, f);
}

static bool refuse(struct gate *g, struct flow *f, unsigned reason)
{
	flow_refuse(g, f, reason);
	return false;
}

/* Lets a whole hello of the guest go on, or refuses it. */
static bool take_hello(struct gate *g, struct flow *f, const struct client_hello *hello,
		       size_t len)
{
	unsigned reason = judge(g, f, hello);

	if (reason != REASON_NONE)
		return refuse(g, f, reason);
	if (f->is_retried)
		pass_all(g, f);
	else
		pass_hello(g, f, len);
	return true;
}

static bool take_other_bytes(struct gate *g, struct flow *f)
{
	if (!accepts_other_bytes(g, f))
		return refuse(g, f, REASON_TLS_INVALID);
	pass_all(g, f);
	return true;
}

/* Judges the guest's first bytes, or those behind a HelloRetryRequest. */
static bool take_bytes(struct gate *g, struct flow *f, const uint8_t *bytes, size_t len)
{
	struct client_hello hello;
	size_t skipped = 0;

	if (f->is_retried && len >= sizeof(change_cipher_spec) &&
	    !memcmp(bytes, change_cipher_spec, sizeof(change_cipher_spec)))
		skipped = sizeof(change_cipher_spec);
	switch (client_hello_parse(bytes + skipped, len - skipped, &hello)) {
	case HELLO_NEED_MORE:
		return true;
	case HELLO_DONE:
		return take_hello(g, f, &hello, len);
	case HELLO_NOT_TLS:
		return take_other_bytes(g, f);
	case HELLO_MALFORMED:
	case HELLO_TOO_LARGE:
		break;
	}
	return refuse(g, f, REASON_TLS_INVALID);
}

bool flow_tls_read(struct gate *g, struct flow *f)
{
	uint8_t bytes[CLIENT_HELLO_MAX + sizeof(change_cipher_spec)];

	ssize_t n = recv(f->guest, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n > 0)
		return take_bytes(g, f, bytes, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (f->upstream < 0) {
		flow_end(g, f, REASON_NONE);
		return false;
	}
	f->reading = FLOW_OPAQUE; /* the stream carries the end, or the error */
	return true;
}

bool flow_tls_read_server(struct flow *f)
{
	uint8_t bytes[CLIENT_HELLO_MAX];
	bool is_retry = false;

	ssize_t n = recv(f->upstream, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0 &&
	    client_hello_is_retry(bytes, (size_t)n, &is_retry) == HELLO_NEED_MORE)
		return false;
	f->up.limit = UINT64_MAX;
	f->is_retried = is_retry;
	f->reading = is_retry ? FLOW_HELLO : FLOW_OPAQUE;
	return true;
}
