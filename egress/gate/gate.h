/* gate -- hutch-gate: the end of a sandbox's network that faces its programs.
 *
 *	guest ──▶ listeners, port 53 ──▶ hutch-gate ◀── frames, sockets ──▶ hutch-egress
 *
 * The gate answers questions for names, accepts each connection to an address that such
 * an answer named, reads the first bytes of TLS and the heads of HTTP, and asks
 * hutch-egress for a socket to the name (frames.h).  With that it carries the bytes, in
 * the kernel where it can.  It can make no socket and open no file (policy/seccomp/
 * gate.json), since it parses what hostile programs send.
 *
 * The gate is one loop around epoll(7), whose parts are:
 *
 *	link	the frames to and from hutch-egress
 *	stub	the resolver
 *	flow	one connection
 *	refusals	packets that the kernel has refused
 *
 * Rules come when the guest sends its first packet (frames.h): till they are there, the
 * kernel holds what the guest sends, and the gate reads nothing of it.
 *
 * `now` is read once a turn.  If hutch-egress is gone, the gate ends: the listeners are
 * closed then, and the kernel refuses every connection. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"
#include "egress/dns_names.h"
#include "egress/frames.h"
#include "egress/gate/gateway.h"
#include "egress/gate/refusals.h"
#include "egress/gate/stream.h"
#include "policy/egress/egress_rules.h"

#define GATE_FLOWS_MAX	   1024 /* connections at once */
#define GATE_QUESTIONS_MAX 256	/* questions that wait for hutch-egress */
#define GATE_LINK_FDS	   16
/* The bound of the frames that wait, in bytes: one for each flow and each question, and
 * room for events, which are dropped before anything else. */
#define LINK_MAX	(4u << 20)
#define LINK_EVENTS_MAX (1u << 20)

struct flow;
struct question;

/* The socket to hutch-egress. */
struct link {
	int fd; /* owned */
	struct buffer in, out;
	/* Owned: descriptors that came and whose OK has not been read yet, the oldest
	 * first.  The order of descriptors is the order of their frames. */
	int fds[GATE_LINK_FDS];
	size_t fd_count;
	bool has_ended; /* link_catch_up() has met the end */
	struct err why; /* of that end; ERR_NONE: hutch-egress is gone */
};

struct gate {
	int epoll; /* owned */
	struct gateway network;
	struct link link;
	struct dns_names *names; /* owned */
	struct egress_rules rules;
	bool has_hello, has_rules;  /* HELLO was sent; rules have come */
	int supervisor;		    /* borrowed: where the report goes; -1: it was sent */
	struct egress_rules coming; /* a set of rules of which not all have come */
	struct flow *flows[GATE_FLOWS_MAX];		/* owned; NULL: free */
	struct question *questions[GATE_QUESTIONS_MAX]; /* owned; NULL: free */
	size_t flow_count, question_count;
	struct stream_pool pool;
	struct refusals refusals;
	uint32_t turn;	/* counts ids, so that one is not used again soon */
	bool has_more;	/* a flow has bytes to move that no event will tell */
	bool is_over;	/* the supervisor is gone */
	int spare;	/* owned: a descriptor to close where none is left (flow.c) */
	int64_t expiry; /* when a flow's time comes; 0: never */
	int64_t now;	/* ms of base/clock.h, read once a turn */
};

/* The kinds of watched descriptors.  The data of an event is the kind, and the index of a
 * listener or a flow. */
enum gate_watch {
	WATCH_LINK,
	WATCH_SUPERVISOR,
	WATCH_DATAGRAMS,
	WATCH_LISTENER,
	WATCH_REFUSED,
	WATCH_GUEST,
	WATCH_UPSTREAM
};

/* Watches a descriptor, edge-triggered for flows.  The descriptor's close ends it. */
int gate_watch(struct gate *g, int fd, enum gate_watch kind, size_t index, struct err *e);

/* Takes over `egress`, and the sockets of `network`. */
int gate_init(struct gate *g, struct gateway *network, int egress, struct err *e);
void gate_done(struct gate *g);

/* Runs until hutch-egress or the supervisor is gone, which is the end of the sandbox; -1:
 * hutch-egress broke the rules of frames, or a system call failed.  Sends the supervisor
 * the report when hutch-egress has said hello, and so is confined. */
int gate_run(struct gate *g, int supervisor, struct err *e);

/* Sends the supervisor the report, if it was not sent yet. */
void gate_tell_ready(struct gate *g);

/* Rules have come: reads what the guest has sent, and will send. */
int gate_begin(struct gate *g, struct err *e);

/* --- link.c ------------------------------------------------------------------------- */

/* Reads and handles frames; sends what waits.  Returns 0: hutch-egress is gone; -1: an
 * error; 1: else. */
int link_read(struct gate *g, struct err *e);
/* Reads and handles the frames that have come, so that a question of the guest is answered
 * by all rules that hutch-egress sent before it.  Without that, the loop may come to the
 * question first.  An end is what the next link_read() returns. */
void link_catch_up(struct gate *g);
int link_flush(struct gate *g, struct err *e);

/* Says hello, unless that was done before: hutch-egress sends the rules then. */
int link_say_hello(struct gate *g, struct err *e);

/* Sends an event about a refusal that the gate decided itself. */
void link_tell(struct gate *g, const struct frames_event *event);

/* Says that a connection which was opened has no guest any more. */
int link_say_closed(struct gate *g, uint32_t id, struct err *e);

/* --- stub.c ------------------------------------------------------------------------- */

void stub_read_datagrams(struct gate *g);
/* Answers the questions that have come whole on a connection to port 53.  Returns false
 * if the connection is to be closed. */
bool stub_read_stream(struct gate *g, struct flow *f);
void stub_resolved(struct gate *g, uint32_t id, enum frames_outcome outcome);
void stub_done(struct gate *g);
