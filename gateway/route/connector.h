/* connector -- the process of hutch-route that looks names up and connects to pods.
 *
 * The front, which reads what clients send, can do neither: it asks by a packet that has
 * a ticket and a pod's number, and gets the same ticket back, with a connection beside it
 * or without one.  The connector works at each request in a child of its own, since
 * getaddrinfo(3) blocks; so no pod waits for another's name. */
#pragma once
#include <stdint.h>

struct err;
struct pods;

#define CONNECTOR_AT_ONCE 64
#define CONNECTOR_SECONDS 4 /* until an attempt is given up */

struct connector_ask {
	uint32_t ticket, pod;
};

struct connector_answer {
	uint32_t ticket;
};

/* Answers until the front closes `link`.  SIGINT or SIGTERM, which must be blocked, is
 * told to the front once by a packet of no known ticket (0); a second one ends the
 * connector. */
int connector_run(const struct pods *pods, int link, struct err *e);
