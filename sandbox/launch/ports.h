/* ports -- the published ports of a running sandbox, and the connections to
 * them.
 *
 *	ports_init
 *	ports_open	before the sandbox begins: the sockets on the host
 *	ports_begin	once its channel is there
 *	in a loop: poll(2) for ports_fd(), until ports_due() at most; then ports_work
 *	ports_end	the sandbox has ended
 *	ports_done
 *
 * A visit is one connection of a client's, from accept(2) on:
 *
 *	state		leaves it when
 *	DIALLED		both directions have ended, and "closed" came	forgotten
 *			it broke: "hangup" is said		-> PARTED
 *			"closed" came with an error: reset		forgotten
 *	PARTED		"closed" came					forgotten
 *
 * Nothing of the host's network is inside: between the client's socket and the
 * sandbox are two pipes (protocol/socket_splice.h), and frames carry the requests and
 * words about them.  A connection that is not accepted yet waits in the
 * kernel's queue: while requests wait for the executor, while there are
 * PORT_CONNECTS_MAX visits, while descriptors are short or not allowed to visits.
 *
 * Everything that comes from inside is checked: an id that was not given out,
 * or a word at the wrong time, ends the sandbox. */
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
	bool is_found;	  /* the port was found in a range, so the user is told its
			   * number */
	bool has_waiting; /* a connection may wait in the port's queue */
	uint32_t number;  /* the port's number, unique for as long as the sandbox lives */
};

struct ports {
	struct port *all; /* owned */
	size_t count;
	struct visit **visits; /* owned; PORT_CONNECTS_MAX places once there is a port */
	size_t visit_count;
	size_t fds_max;	     /* descriptors that all visits may have */
	unsigned wide_count; /* how many pipes were made larger */
	uint32_t last_number, last_id;
	uint32_t turn; /* the port that accepts next, modulo `count` */
	struct channel *channel; /* borrowed; NULL: ports_begin() was not called */
	int epoll;		 /* owned; -1: there is no port */
	int passing[2];		 /* owned: ends of pipes that are on their way inside;
				  * -1: none */
	int64_t deaf_ms; /* until when nothing is accepted, since descriptors had run
			  * out; 0: connections are accepted */
	bool has_more, is_closed;
	bool has_paths; /* one of the ports is, or was, a unix socket */
};

void ports_init(struct ports *p);
/* Closes everything; the paths of unix sockets stay, for listener_remove(). */
void ports_done(struct ports *p);

/* Opens the policy's ports: unix sockets if `are_paths`, else TCP ports.  TCP ports
 * are to be opened before the process gives up any rights, unix sockets as the user
 * that is to own them. */
int ports_open(struct ports *p, const struct policy *policy, bool are_paths,
	       struct err *e);
/* Adds one port that leads to `guest` inside; takes `at` over.  ERR_LIMIT: there are
 * PORT_SPEC_MAX already.  ERR_EXISTS: that address is published. */
int ports_add(struct ports *p, struct listener *at, uint16_t guest, struct err *e);
/* Removes the port that is published at `host`, and its visits.  ERR_NOT_FOUND:
 * there is none. */
int ports_remove(struct ports *p, const char *host, struct err *e);

/* Writes a line to `to` for each port that was found in a range. */
void ports_tell(const struct ports *p, int to);

/* Makes the ports accept connections from now on; the executor has said hello. */
void ports_begin(struct ports *p, struct channel *c);
/* Accepts no connection from now on. */
void ports_close(struct ports *p);

/* ports_allow() sets how many descriptors all visits together may have from now on;
 * until it is called they may have any number.  ports_visit_fds() tells how many
 * they have. */
void ports_allow(struct ports *p, size_t fds);
size_t ports_visit_fds(const struct ports *p);

/* Returns the descriptor to be polled for POLLIN; -1: there is none. */
int ports_fd(const struct ports *p);
/* Lists all open descriptors except those of visits; returns their number. */
#define PORTS_FDS (PORT_SPEC_MAX + 1)
size_t ports_fds(const struct ports *p, int ret[PORTS_FDS]);
/* Returns the number of visits of one port. */
size_t ports_count(const struct ports *p, const struct port *port);
/* Returns when ports_work() has something to do without an event, in ms of clock.h.
 * 0: never; PORTS_AT_ONCE: now, since that time is always past. */
#define PORTS_AT_ONCE 1
int64_t ports_due(const struct ports *p);
/* Moves the bytes that can be moved and accepts the connections that can be
 * accepted.  -1: the channel is broken. */
int ports_work(struct ports *p, bool has_events, int64_t now, struct err *e);

/* Takes a frame "finished" or "closed" from the executor.  -1: the frame breaks the
 * protocol. */
int ports_frame(struct ports *p, const struct frame *f, struct err *e);

/* Ends all visits when no process is left inside.  Bytes that were sent are handed
 * over, for a second at most; connections of clients that have not taken theirs by
 * then are reset. */
void ports_end(struct ports *p);
/* Does one turn of ports_end(), at `now`.  True: no visit is left, which is always
 * so from `due` on. */
bool ports_part(struct ports *p, int64_t due, int64_t now);
