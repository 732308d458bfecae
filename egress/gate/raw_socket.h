/* raw_socket -- a socket that gets a copy of each packet that the kernel refuses, since
 * no listener is at its port (raw(7)).
 *
 * A process could also send packets by it, but only within the gateway's namespace, to the
 * guest.
 *
 * A packet socket would get the same, but its close waits for the other processors
 * (synchronize_net()), which makes a sandbox's end 8 to 24 ms longer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define RAW_SOCKET_PORTS_MAX 66

/* Makes a socket, not blocking, in the network namespace of this process, which needs
 * CAP_NET_RAW there.  It gets the first bytes of each datagram to another port than 53, or
 * of each SYN to a port that is neither 53 nor one of `ports`.  recvmsg(2) gives the
 * destination in a control message: IP_ORIGDSTADDR, or IPV6_ORIGDSTADDR. */
int raw_socket_open(bool is_udp, bool is_ipv6, const uint16_t *ports, size_t count,
		    struct err *e);
