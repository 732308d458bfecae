/* egress -- the two processes that are a sandbox's way to the network.  No launch starts
 * them yet.
 *
 *	egress_open	before root is dropped: the two programs
 *	egress_start	the two processes, before the sandbox's own
 *	egress_connect	in the sandbox's set-up: its network namespace goes to the gate,
 *			which connects it
 *	egress_done	their end
 *
 * hutch-gate faces the sandbox and hutch-egress the host's network; egress/README.md says
 * which does what.  Both are children of this process, outside of the sandbox's
 * namespaces.  Each ends when this process ends (their `control` sockets), and when the
 * other one does. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/kernel/program.h"

struct err;
struct list;

struct egress {
	struct program gate_program, egress_program;
	pid_t gate, egress; /* 0: not started */
	int gate_control; /* owned: its end tells the gate that this process has ended */
	int control;	  /* owned: settings to hutch-egress, and its events */
	int setup; /* owned: the sandbox's set-up passes its namespace through this socket
		    * to the gate */
};

void egress_init(struct egress *x);
void egress_done(struct egress *x);

int egress_open(struct egress *x, struct err *e);
/* Starts both processes with the rules, each of which is JSON as a policy file has it
 * (egress_rules_add_json()). */
int egress_start(struct egress *x, const struct list *rules, struct err *e);

/* Called in the set-up of the sandbox: passes the network namespace `inside`, and waits
 * until the gate has made its network.  `setup` is the socket of that name. */
int egress_connect(int setup, int inside, struct err *e);
