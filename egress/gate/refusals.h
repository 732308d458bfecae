/* refusals -- tells of packets that the kernel has refused, since no listener was there.
 *
 * The gate's raw sockets (gateway.h) get a copy of each.  The first of a destination is
 * told at once, so that it is told while the program that has sent it still runs; the
 * others of the same second are one event, with their number.  A table of REFUSALS_MAX
 * destinations bounds the events of a second: beyond it they are counted as one.
 *
 * No byte of a packet is read here: the kernel gives the destination (ip(7),
 * IP_RECVORIGDSTADDR). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress/address.h"

struct gate;

#define REFUSALS_MAX 64
#define REFUSALS_MS  1000

struct refusal {
	struct address to;
	uint16_t port;
	bool is_udp;
	uint32_t count; /* those that were not told yet */
};

/* The zero object is empty. */
struct refusals {
	struct refusal items[REFUSALS_MAX];
	size_t count;
	uint32_t others; /* packets for which the table had no room */
	int64_t due;	 /* when the second is over; 0: nothing is in the table */
};

/* Counts one packet (r->count is not read), and tells of it if it is the first. */
void refusals_add(struct gate *g, const struct refusal *r);

/* Reads what has come to g->network.refused[socket]. */
void refusals_read(struct gate *g, size_t socket);

/* Tells of what was not told yet, when the second is over. */
void refusals_expire(struct gate *g);

/* Reads all sockets, and tells of everything. */
void refusals_end(struct gate *g);
