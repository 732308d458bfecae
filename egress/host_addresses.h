/* host_addresses -- whether the kernel would deliver to this host itself what is sent to
 * an address.
 *
 * The kernel is asked for the route of the address (RTM_GETROUTE, rtnetlink(7)), at each
 * connection.  A list of the addresses of all interfaces would be older than the answer,
 * and would lack what routing tables alone know: the prefixes of `ip route add local`,
 * and the tables of policy routing.
 *
 * The socket is made before the process is confined, and is then only written and read.
 * The answer comes within the write: the kernel's rtnetlink works in the caller's
 * context, so that the socket never has to be waited for. */
#pragma once
#include "policy/egress/address.h"

struct err;

enum host_addresses_answer {
	HOST_ADDRESSES_OTHER,  /* another host's, or the route is missing: connect(2)
				  * then fails */
	HOST_ADDRESSES_OWN,    /* this host's: local, anycast, broadcast, multicast */
	HOST_ADDRESSES_UNKNOWN /* the kernel could not be asked; to be refused */
};

/* Returns a socket for host_addresses_ask(), or -1. */
int host_addresses_open(struct err *e);

enum host_addresses_answer host_addresses_ask(int socket, const struct address *a);
