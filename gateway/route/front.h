/* front -- the process of hutch-route that reads what clients send.
 *
 * It is confined before it reads a byte: it opens no file, makes no socket and runs no
 * program (gateway/serve_confine.h).  Each connection of a client is one request
 * (client.h).  It has no key: those of clients go to the pods, which decide. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "gateway/loop.h"
#include "gateway/route/dials.h"
#include "gateway/route/pods.h"

struct client;
struct err;

#define FRONT_SCRATCH 65536
#define FRONT_ASKS    64 /* clients at once for which all pods are asked */

struct front {
	const struct pods *pods;
	int64_t wait_ms;      /* how long a request waits for its pod */
	unsigned connections; /* the most at once */
	struct loop loop;
	struct dials dials;
	struct watch listeners[2]; /* for clients; for --metrics; fd -1: none */
	struct client *clients;
	unsigned count, asks;
	struct timer sweep, patience;
	bool is_stopping, is_over, is_listening;
	bool is_scarce; /* the last connection could not be taken: too few descriptors */
	unsigned any;		   /* the pod for the next request that each can answer */
	unsigned coming[PODS_MAX]; /* sandboxes that are being started there */
	bool is_down[PODS_MAX];	   /* the last attempt to connect has failed */
	uint64_t requests, refused, unreachable, broken; /* counters, for /metrics */
	uint8_t scratch[FRONT_SCRATCH];
};

/* Serves until it is told to stop.  `fds`: the listening sockets, -1: none. */
int front_run(struct front *f, const int fds[2], int link, struct err *e);

/* The parts of front_run(): front_begin() does what precedes the first turn, front_end()
 * what follows the last. */
int front_begin(struct front *f, const int fds[2], int link, struct err *e);
void front_end(struct front *f);

/* Accepts connections, or no more, by how many there are. */
void front_listen(struct front *f);
/* Accepts connections again: a client has ended, or other processes may have freed what
 * the system lacked. */
void front_freed(struct front *f);

/* Returns the text of /metrics, allocated. */
char *front_metrics(const struct front *f);
