/* gateway -- the network in which a sandbox meets hutch-gate, and the gate's sockets.
 *
 * A sandbox with rules for its network reaches no other network than this one, in one of
 * two forms:
 *
 *	GATEWAY_PAIR	a second network namespace, the gateway's, and a pair of veth
 *			devices between the two.  Every address is local in the
 *			gateway's namespace (AnyIP: a route of type `local` for 0.0.0.0/0
 *			and ::/0), so that a listener there accepts connections to all
 *			addresses, and getsockname(2) gives the one that was meant.
 *	GATEWAY_SINGLE	the same routes and listeners in the sandbox's own namespace,
 *			where the kernel has no veth devices.  The ports of the listeners
 *			are then taken inside.
 *
 * The sandbox's set-up has made both namespaces.  gateway_make() is called in the process
 * that becomes the gate.  The process is outside of the sandbox's pid and mount namespaces
 * and has the user's id, as the owner of the sandbox's user namespace: so it may join that
 * (user_namespaces(7)), has all capabilities there, and makes devices, routes and sockets.
 * A socket belongs to the network namespace in which it was made, so that afterwards the
 * process needs neither namespaces nor capabilities, and drops them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/egress_rule.h"

struct err;

/* The addresses.  The gate's is what /etc/resolv.conf inside names. */
#define GATEWAY_GUEST  "10.0.2.15"
#define GATEWAY_GATE   EGRESS_RESOLVER
#define GATEWAY_GUEST6 "fd00:2::15"
#define GATEWAY_GATE6  "fd00:2::2"

/* The sockets that tell of refused packets: TCP and UDP, of IPv4 and IPv6. */
#define GATEWAY_REFUSED 4

/* 53, 80, 443, and the ports that rules name (EGRESS_PORTS_MAX). */
#define GATEWAY_LISTENERS_MAX 67

enum gateway_form { GATEWAY_PAIR, GATEWAY_SINGLE };

struct gateway {
	enum gateway_form form;
	bool has_ipv6; /* the kernel has IPv6; if not, sockets are AF_INET */
	int space; /* owned: the gateway's network namespace, where loopback is up; -1 in
		    * the form GATEWAY_SINGLE */
	int datagrams; /* owned: UDP port 53 at all addresses, with IP_PKTINFO or
			* IPV6_RECVPKTINFO */
	/* Owned: one listener a port, for all addresses; or one for all ports, too. */
	int listeners[GATEWAY_LISTENERS_MAX];
	size_t count;
	/* Owned: those that get refused packets (raw_socket.h), of TCP and UDP with IPv4,
	 * and then with IPv6.  -1: none, as in the form GATEWAY_SINGLE, where the guest
	 * would see these sockets, and they would tell of its loopback. */
	int refused[GATEWAY_REFUSED];
};

/* The TCP ports that lead to a listener beside 53, distinct and not 53. */
struct gateway_ports {
	uint16_t items[GATEWAY_LISTENERS_MAX - 1];
	size_t count;
	bool are_all; /* every port does, by TPROXY (tproxy.h); `items` is not read */
};

void gateway_init(struct gateway *g);
void gateway_done(struct gateway *g);

/* Joins the user namespace that owns the network namespace `inside`, the sandbox's, and
 * g->space, makes the network in the form that the kernel has, and opens the sockets.  A
 * kernel without veth devices gets GATEWAY_SINGLE, and g->form says so.  ERR_UNSUPPORTED:
 * all ports are to lead to the gate, and a module that this needs is missing; in the form
 * GATEWAY_SINGLE the guest's own servers would lose their ports.  The process must have
 * one thread. */
int gateway_make(struct gateway *g, int inside, const struct gateway_ports *ports,
		 struct err *e);
