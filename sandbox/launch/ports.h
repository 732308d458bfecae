/* ports -- the published ports of a running sandbox, and the connections to them.
 *
 *	ports_init
 *	ports_open	before the sandbox begins: the sockets on the host
 *	ports_begin	once its channel is there
 *	in a loop: poll(2) for ports_fd(), until ports_due() at most; then ports_work
 *	ports_end	the sandbox has ended
 *	ports_done
 *
 * A visit is one connection of a client on the host to a published port, from accept(2)
 * on:
 *
 *	state		leaves it when
 *	DIALLED		both directions have ended, and "closed" came	forgotten
 *			it broke: "hangup" is sent		-> PARTED
 *			"closed" came with an error: reset		forgotten
 *	PARTED		"closed" came					forgotten
 *
 * No socket of the host's network enters the sandbox: two pipes carry the bytes between
 * the client's socket and the executor (protocol/socket_splice.h), and frames of the
 * channel carry the requests and messages about them.  No connection is accepted, and
 * clients wait in the kernel's queue, while requests to the executor are still queued,
 * while there are PORT_CONNECTS_MAX visits, while visits have all descriptors that
 * ports_allow() grants them, and while the process has no free descriptors.
 *
 * All messages from the executor are checked: an unknown id, or a message at the wrong
 * time, ends the sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/port_spec.h"
#include "sandbox/kernel/listener.h"

struct channel;
struct err;
struct frame;
struct policy;
struct visit;

struct port {
	struct listener at;
	uint16_t guest;
	bool is_found;	  /* this port's number was found in a range, so the user has to
			   * be told the number */
	bool has_waiting; /* a connection may wait in the listening socket's queue */
	uint32_t number;  /* identifies this entry; no other port of this sandbox ever
			   * gets the number */
};

/* The most sockets that wait for ports_connect(): as many as connections can be open, so
 * that a crowd of those is not refused for coming at once. */
#define PORTS_KNOCKS_MAX 256

/* A connected socket that waits to be led inside. */
struct knock {
	int fd; /* owned */
	uint16_t guest;
};

struct ports {
	struct port *all; /* owned */
	size_t count;
	/* owned; room for PORT_CONNECTS_MAX visits, allocated with the first port */
	struct visit **visits;
	size_t visit_count;
	struct knock knocks[PORTS_KNOCKS_MAX]; /* the oldest first */
	size_t knock_count;
	size_t led_count; /* visits of ports_connect() */
	size_t fds_max;	     /* how many descriptors all visits together may have */
	unsigned wide_count; /* how many pipes were enlarged */
	uint32_t last_number, last_id;
	uint32_t turn; /* the index of the port that accepts next, modulo `count` */
	struct channel *channel; /* borrowed; NULL: ports_begin() was not called */
	int epoll;		 /* owned; -1: there is no port */
	/* owned: pipe ends that are queued to be passed into the sandbox; -1: none */
	int passing[2];
	/* descriptors had run out: the time until which no connection is accepted; 0:
	 * connections are accepted */
	int64_t deaf_ms;
	bool has_more, is_closed;
	bool has_paths; /* one of the ports is, or has been, a unix socket */
};

void ports_init(struct ports *p);
/* Closes everything.  The files of unix sockets stay; listener_remove() removes them. */
void ports_done(struct ports *p);

/* Opens the policy's ports: its unix sockets if `are_paths`, else its TCP ports.  TCP
 * ports are to be opened before the process drops any privileges, unix sockets after it
 * has become the user that is to own them. */
int ports_open(struct ports *p, const struct policy *policy, bool are_paths,
	       struct err *e);
/* Publishes one more port: connections to `at`, which is taken over, lead to port
 * `guest` inside.  ERR_LIMIT: PORT_SPEC_MAX ports are published already.  ERR_EXISTS:
 * this address is published already. */
int ports_add(struct ports *p, struct listener *at, uint16_t guest, struct err *e);
/* Removes the port that is published at the address `host`, and ends its visits.
 * ERR_NOT_FOUND: no port is published there. */
int ports_remove(struct ports *p, const char *host, struct err *e);

/* Leads one connected socket, which is taken over and does not block, to port `guest`
 * inside, as a visit of no port: it comes before visits that wait in queues of the kernel.
 * ERR_LIMIT: PORTS_KNOCKS_MAX wait already; ERR_GONE: no connection is accepted any more. */
int ports_connect(struct ports *p, int *socket, uint16_t guest, struct err *e);

/* For each port that was found in a range, writes a line with its number to `to`. */
void ports_tell(const struct ports *p, int to);

/* Lets the ports accept connections from now on; to be called when the executor's
 * "hello" has come. */
void ports_begin(struct ports *p, struct channel *c);
/* Accepts no connection from now on. */
void ports_close(struct ports *p);

/* ports_allow() sets how many descriptors all visits together may have from now on;
 * before the first call there is no limit.  ports_visit_fds() returns how many they have
 * now. */
void ports_allow(struct ports *p, size_t fds);
size_t ports_visit_fds(const struct ports *p);

/* Returns the descriptor to poll for POLLIN; -1: there is nothing to poll. */
int ports_fd(const struct ports *p);
/* Lists all open descriptors except those of visits; returns their number. */
#define PORTS_FDS (PORT_SPEC_MAX + 1)
size_t ports_fds(const struct ports *p, int ret[PORTS_FDS]);
/* Returns the number of visits of one port. */
size_t ports_count(const struct ports *p, const struct port *port);
/* Returns when ports_work() is due even without an event, in ms of clock.h.  0: never.
 * PORTS_AT_ONCE, a time that is always past: now. */
#define PORTS_AT_ONCE 1
int64_t ports_due(const struct ports *p);
/* Moves the bytes that can be moved, and accepts the connections that can be accepted.
 * -1: the channel to the executor is broken. */
int ports_work(struct ports *p, bool has_events, int64_t now, struct err *e);

/* Handles the message "finished" or "closed" of the executor.  -1: the message breaks
 * the protocol. */
int ports_frame(struct ports *p, const struct frame *f, struct err *e);

/* Ends all visits; to be called when no process is left inside.  Clients have a second
 * to take the bytes that were sent to them; then the remaining connections are reset. */
void ports_end(struct ports *p);
/* Does one turn of the loop of ports_end(), at the time `now`.  Returns true when no
 * visit is left, which is always so from the time `due` on. */
bool ports_part(struct ports *p, int64_t due, int64_t now);
