/* egress -- the two processes that are a sandbox's way to the network.
 *
 *	egress_open	before root is dropped: the two programs
 *	egress_start	the two processes, before the sandbox's own
 *	egress_connect	in the sandbox's set-up: two network namespaces go to the gate
 *	egress_hear	the gate has connected them, or has failed; until then
 *			egress_is_awaited(), and no program inside may start
 *	egress_order_	change its rules while it runs (egress_orders.h)
 *	egress_finish	when the sandbox has ended: their orderly end, after which
 *			egress_next() has what they had still to say (egress_news.h)
 *	egress_done	their end, at once
 *
 * hutch-gate faces the sandbox and hutch-egress the host's network; egress/README.md says
 * which does what.  Both are children of this process, outside of the sandbox's
 * namespaces.  Each ends when this process ends (their `control` sockets), and when the
 * other one does. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "sandbox/kernel/program.h"

struct egress_rules;
struct err;
struct list;

/* 80, 443, and the ports that rules name (EGRESS_PORTS_MAX). */
#define EGRESS_LAUNCH_PORTS_MAX 66

/* The forms of a network of rules (egress/gate/gateway.h). */
enum egress_form { EGRESS_NONE, EGRESS_GATEWAY, EGRESS_SINGLE };

struct egress {
	struct program gate_program, egress_program;
	pid_t gate, egress; /* 0: not started */
	int gate_control; /* owned: the gate's report comes from it, and its end tells the
			   * gate that this process has ended */
	int control;	  /* owned: settings to hutch-egress, and its lines; -1: ended */
	struct buffer said; /* lines of hutch-egress that were not taken yet */
	struct buffer unsent; /* lines to hutch-egress that its socket did not take yet */
	uint16_t ports[EGRESS_LAUNCH_PORTS_MAX]; /* those at which the gate listens */
	size_t port_count;
	bool has_all_ports; /* the gate listens at every port */
	bool is_lost;	    /* it has ended, and egress_next() has not said so yet */
	int peers; /* owned until egress_start(): hutch-egress asks by it for other
		    * sandboxes (egress/peer_frames.h); -1: this one has no network */
	int setup; /* owned: the sandbox's set-up passes namespaces through this socket to
		    * the gate */
	enum egress_form form; /* of the network that the gate has made */
	/* Owned: with EGRESS_GATEWAY, the gateway's namespace; else -1.  While a process
	 * holds it, the namespace outlives a gate that was killed, and the kernel refuses
	 * connections: without it, the devices would go, and with them the answers to
	 * connections that are being made. */
	int space;
};

/* Returns "gateway" or "single"; NULL: there is no such network. */
const char *egress_form_name(enum egress_form form);

void egress_init(struct egress *x);
void egress_done(struct egress *x);

int egress_open(struct egress *x, struct err *e);
/* Starts both processes with the rules, and sends these as `texts`, each of which is JSON
 * as a policy file has it (egress_rules_add_json()). */
int egress_start(struct egress *x, const struct egress_rules *rules,
		 const struct list *texts, struct err *e);

/* Called in the set-up of the sandbox: passes its network namespace `inside` to the gate,
 * and `gateway`, that of the gate itself.  `setup` is the socket of that name. */
int egress_connect(int setup, int inside, int gateway, struct err *e);

/* Returns whether the gate has not made the network yet: egress_hear() is to be called
 * when `gate_control` is readable. */
bool egress_is_awaited(const struct egress *x);
/* Returns -1 if there will be no network; the error is the gate's. */
int egress_hear(struct egress *x, struct err *e);

void egress_finish(struct egress *x);
