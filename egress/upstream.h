/* upstream -- hutch-egress: the process in the host's network namespace that resolves,
 * checks and connects, and hands connected sockets to hutch-gate (frames.h).
 *
 *	OPEN ─▶ rules ─▶ (ask) ─▶ lookup ─▶ each address checked ─▶ dialer ─▶ OK + socket
 *		  └────────┴─────────┴──────────────┴──────────────────┴──▶ NO(reason)
 *
 * A connection to another sandbox (sandbox_name.h) needs neither a lookup nor the dialer:
 * another process makes it (upstream_peer.c).
 *
 * The gate is taken for hostile: all rules are judged here, and what it says of a
 * connection is only compared or written down.  A frame that breaks the protocol ends the
 * process, and with it every connection: the gate's end of the channel then closes, and
 * so does each copy of a socket that stays here.
 *
 * A copy of each connected socket stays here until the gate says CLOSE, so that a
 * connection whose rule is removed can be ended also where the gate does not obey
 * (UPSTREAM_CUT_MS after CUT).
 *
 * Bounds: UPSTREAM_MAX connections, and fewer where RLIMIT_NOFILE is low, since each has
 * one descriptor here; UPSTREAM_QUESTIONS_MAX open questions for names; frames of one turn
 * of the loop; lookups.h, asks.h, gate_link.h and supervisor_link.h have the others.
 * Beyond a bound the answer is NO with REASON_LIMIT.
 *
 * No function but the loop's reads the clock: u->now is the time of the turn. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/asks.h"
#include "egress/dialer.h"
#include "egress/frames.h"
#include "egress/gate_link.h"
#include "egress/hosts_file.h"
#include "egress/known_names.h"
#include "egress/lookups.h"
#include "egress/supervisor_link.h"
#include "egress/verdict.h"

struct err;
struct name_rate;

#define UPSTREAM_MAX	       1024
#define UPSTREAM_QUESTIONS_MAX 256
#define UPSTREAM_FDS_MAX       4096 /* RLIMIT_NOFILE is lowered to it */
#define UPSTREAM_FDS_SPARE     64   /* for the resolver, the links, and queued sockets */
#define UPSTREAM_FRAMES	       64   /* handled in one turn */
#define UPSTREAM_LIST_MAX      256  /* connections that are listed */
#define UPSTREAM_CUT_MS	       2000
#define UPSTREAM_QUEUE_MAX     (4u << 20) /* a gate that reads so little has hung */

enum connection_state {
	CONNECTION_ASKING,  /* for the user's answer */
	CONNECTION_LOOKING, /* for the name's addresses */
	CONNECTION_DIALING,
	CONNECTION_JOINING, /* for the socket to another sandbox */
	CONNECTION_OPEN,    /* the gate has the socket */
	CONNECTION_CUT	    /* and shall close it */
};

struct connection {
	enum connection_state state;
	uint32_t id;
	struct goal goal;
	enum frames_proto proto;
	size_t rule;	       /* the index of the rule that allows or asks */
	bool is_asked;	       /* the user has allowed it */
	bool is_loopback;      /* it goes to the host's loopback */
	bool is_peer;	       /* it goes to another sandbox (sandbox_name.h) */
	uint32_t ticket;       /* while JOINING (peer_frames.h) */
	struct lookup *lookup; /* while LOOKING */
	struct dialer dialer;
	int fds[DIALER_ADDRESSES_MAX]; /* owned: of attempts, -1: none */
	int fd;			       /* owned: a copy of the connected socket */
	struct address peer; /* that it is connected to; none: another sandbox */
	int64_t began;
	int64_t due; /* when CUT is enforced, or JOINING has failed; 0: never */
	struct host_name cname;
	char sni[FRAMES_NAME_MAX + 1], alpn[FRAMES_ALPN_MAX + 1];
};

struct question {
	uint32_t id; /* 0: free */
	struct lookup *lookup; /* NULL: it is about a sandbox */
	uint32_t ticket;       /* of that question */
};

struct upstream {
	int epoll, routes; /* owned */
	int peers; /* owned: to the process that connects to sandboxes; -1: there is none */
	uint32_t ticket; /* the last one */
	struct gate_link gate;
	struct supervisor_link supervisor;
	struct resolver *resolver; /* owned */
	struct hosts_file hosts;
	struct lookups lookups;
	struct asks asks;
	struct egress_rules rules;
	struct name_rate *rates; /* owned: one for each rule */
	struct known_names known;
	struct connection *connections[UPSTREAM_MAX]; /* owned; the first `count` */
	size_t count;
	size_t extra; /* descriptors of attempts beyond the first of a connection */
	size_t fds;   /* how many descriptors connections may have */
	struct connection *owners[UPSTREAM_FDS_MAX]; /* of attempts, by descriptor */
	struct question questions[UPSTREAM_QUESTIONS_MAX];
	uint32_t generation; /* of the rules; 0: there are no settings yet */
	uint32_t gate_events, supervisor_events; /* that epoll(7) watches for */
	bool has_hello;				 /* the gate has said HELLO */
	uint32_t sync; /* the supervisor's question whether all is told; 0: none */
	int64_t now;				 /* ms of base/clock.h */
	int64_t (*stamp)(void);			 /* ms since 1970, for lines */
};

/* upstream_init() opens all that needs files; the caller confines the process
 * (egress_confine.h) before upstream_run(), which returns 0 when the gate or the
 * supervisor has closed its end, and -1 for an error.  `u` is a zero object, but for
 * u->peers. */
int upstream_init(struct upstream *u, int gate, int supervisor, struct err *e);
int upstream_run(struct upstream *u, struct err *e);
void upstream_done(struct upstream *u);

/* --- the parts; each is called by the loop or by the one before it ------------------ */

/* upstream_frame.c: a frame of the gate; -1: it breaks the protocol. */
int upstream_frame(struct upstream *u, const struct frame *f, struct err *e);

/* upstream_order.c: a line of the supervisor. */
void upstream_order(struct upstream *u, struct order *o);

/* upstream_list.c: replies with the newest open connections. */
void upstream_list(struct upstream *u);

/* upstream_open.c: decides on a connection from the beginning, and goes on as far as it
 * can.  The connection may be gone afterwards. */
void upstream_decide(struct upstream *u, struct connection *c);
/* Goes on with all that waited for an answer that has come. */
void upstream_settle(struct upstream *u);

/* upstream_dial.c */
void upstream_dial(struct upstream *u, struct connection *c,
		   const struct address *addresses, size_t count);
/* Goes on with attempts whose time has come. */
void upstream_dial_step(struct upstream *u, struct connection *c);
/* Handles the end of an attempt. */
void upstream_dial_ready(struct upstream *u, int fd);
/* Sets the options of a connected socket. */
void upstream_dial_options(int fd);
/* Closes the sockets of attempts. */
void upstream_dial_stop(struct upstream *u, struct connection *c);

/* upstream_peer.c: asks for a socket to another sandbox; the connection may be gone
 * afterwards. */
void upstream_peer_connect(struct upstream *u, struct connection *c);
/* Asks whether there is such a sandbox.  False: no answer will come. */
bool upstream_peer_ask(struct upstream *u, struct question *q, const char *name);
/* Reads replies. */
void upstream_peer_ready(struct upstream *u);

/* upstream_tell.c: the ends of connections, and the lines about them. */
struct connection *upstream_find(const struct upstream *u, uint32_t id);
/* Returns NULL where there is no room. */
struct connection *upstream_add(struct upstream *u, uint32_t id);
void upstream_remove(struct upstream *u, struct connection *c);
void upstream_refuse(struct upstream *u, struct connection *c, enum reason reason);
void upstream_allow(struct upstream *u, struct connection *c);
void upstream_cut(struct upstream *u, struct connection *c);
void upstream_end(struct upstream *u, struct connection *c, const struct frames_close *x);
/* Writes a line about what is no struct connection: what the gate refused itself, or an
 * OPEN for which there is no room. */
void upstream_tell_event(struct upstream *u, const struct frames_event *x, bool is_gates);
/* Answer a line of the supervisor. */
void upstream_reply(struct upstream *u, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void upstream_reply_error(struct upstream *u, const char *text);
const char *upstream_rule_text(const struct upstream *u, size_t rule);
/* Queues a frame; a frame that could not be made is a bug. */
void upstream_queue(struct upstream *u, struct buffer *frame);
