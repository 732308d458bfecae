/* flow -- one connection of a program inside, from its accept(2) to its end.
 *
 *	READS	waits for the guest's first bytes, at ports where a client speaks first:
 *		80 and 443
 *	ASKS	has sent OPEN, and waits for hutch-egress
 *	RUNS	has both sockets
 *	ANSWERS	is a connection to port 53, which the gate itself answers
 *
 * At other ports a server may speak first, so OPEN is sent at once, and the server's bytes
 * are carried; the guest's are held until their first one shows whether they are TLS.
 *
 * Where TLS is spoken, the guest's first flight must be a ClientHello for the
 * connection's name.  The guest's bytes are then held until the server's first flight has
 * shown that it asks for no second hello (HelloRetryRequest), which would be read as
 * well.  At port 80 each request's head is read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "egress/dns.h"
#include "egress/frames.h"
#include "egress/gate/stream.h"
#include "egress/http_head.h"
#include "policy/egress/address.h"

struct gate;

#define FLOW_READS_MS (60 * 1000)      /* for the first bytes */
#define FLOW_IDLE_MS  (60 * 60 * 1000) /* without a byte either way */

enum flow_state { FLOW_READS, FLOW_ASKS, FLOW_RUNS, FLOW_ANSWERS };

/* How the guest's bytes are read. */
enum flow_reading {
	FLOW_OPAQUE,	 /* not at all */
	FLOW_FIRST_BYTE, /* the first one decides between TLS and opaque */
	FLOW_HELLO,	 /* a ClientHello, the first or the second */
	FLOW_HELLO_SENT, /* held, until the server's first flight is there */
	FLOW_HTTP	 /* heads and bodies */
};

/* The state of an HTTP/1 connection. */
struct flow_http {
	struct buffer held; /* the guest's bytes that are not sent on yet */
	struct http_head head;
	struct http_body body;
	size_t sendable; /* bytes of `held` that have been read and may go on */
	bool is_in_body;
	bool is_later;	       /* a request was read before */
	bool waits_for_answer; /* a websocket: the server's answer decides */
	bool is_raw;	       /* a websocket was opened */
	bool has_ended;	       /* the guest has sent its last byte */
};

struct flow {
	uint32_t id; /* of frames; its low bits are the slot in gate.flows */
	size_t slot;
	enum flow_state state;
	enum flow_reading reading;
	int guest, upstream; /* owned; -1: none yet */
	uint16_t port;
	struct address to; /* the address that the guest has connected to */
	uint32_t fake;	   /* the same as the address of a name, which is held; 0: none */
	char name[FRAMES_NAME_MAX + 1]; /* "": a literal address */
	char sni[FRAMES_NAME_MAX + 1], alpn[FRAMES_ALPN_MAX + 1]; /* for the audit */
	uint32_t rule; /* of OK; FRAMES_NO_RULE before */
	struct stream up, down;
	struct flow_http *http; /* owned; NULL unless reading is FLOW_HTTP */
	struct buffer dns;	/* FLOW_ANSWERS: bytes that have come */
	bool is_retried;	/* a second ClientHello was asked for */
	bool has_more;		/* bytes can be moved without an event */
	int64_t used;		/* when a byte was moved last */
};

/* Accepts what has come to a listener. */
void flow_accept(struct gate *g, size_t listener);

/* Moves on whatever can be: called for each event, and while f->has_more.  The flow may be
 * gone afterwards. */
void flow_move(struct gate *g, struct flow *f);

/* hutch-egress has answered.  flow_opened() takes over `upstream`. */
void flow_opened(struct gate *g, struct flow *f, int upstream, uint32_t rule);
void flow_refused(struct gate *g, struct flow *f, unsigned reason);

/* Ends the flow: with a reason, the guest sees a reset.  An open one is told to
 * hutch-egress (CLOSE). */
void flow_end(struct gate *g, struct flow *f, unsigned reason);

/* Sends OPEN, unless that was done before. */
void flow_ask(struct gate *g, struct flow *f);

/* Refuses the flow for a reason that the gate has found, which is told as an event. */
void flow_refuse(struct gate *g, struct flow *f, unsigned reason);

/* Ends the flows whose time has come, when g->expiry has. */
void flow_expire(struct gate *g);

/* Returns the number of an address in the pools of names (dns_names.h); 0: an address of
 * IPv6 that is not in them. */
uint32_t flow_fake(const struct address *a);

/* Returns the flow of an id, or NULL. */
struct flow *flow_find(const struct gate *g, uint32_t id);
