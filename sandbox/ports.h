/* ports -- the ports of a running sandbox that are published, and who comes.
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
 * sandbox are two pipes (base/conduit.h), and requests and words about them in frames.
 * What is not let in yet waits in the kernel's queue: while requests wait for the
 * executor, while there are DIALS_MAX visits, while descriptors are short or not for it.
 *
 * Everything that comes from inside is checked: an id that was not given out, a word at
 * the wrong time end the sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/publish.h"
#include "sandbox/listener.h"

struct channel;
struct err;
struct frame;
struct policy;
struct visit;

struct port {
	struct listener at;
	uint16_t guest;
	bool is_found;	  /* it was not named, but one of a range */
	bool has_waiting; /* somebody may be in its queue */
	uint32_t number;  /* of this one alone, for as long as the sandbox lives */
};

struct ports {
	struct port *all; /* owned */
	size_t count;
	struct visit **visits; /* owned; DIALS_MAX places once there is a port */
	size_t visit_count;
	size_t fds_max;	     /* descriptors that all visits may have */
	unsigned wide_count; /* pipes that were made larger */
	uint32_t last_number, last_id;
	uint32_t turn; /* which port is to let somebody in next, modulo their count */
	struct channel *channel; /* borrowed; NULL: not begun */
	int epoll;		 /* owned; -1: there is no port */
	int passing[2];		 /* owned: pipes that are on their way inside */
	int64_t deaf_ms; /* nobody is let in until then: there was no descriptor left */
	bool has_more, is_closed;
	bool has_paths; /* there is, or was, a unix socket */
};

void ports_init(struct ports *p);
/* Closes all; paths of unix sockets stay (listener_remove). */
void ports_done(struct ports *p);

/* Those of the policy that are paths, or that are not.  Before anything of this
 * process's rights is given up for TCP; as who is to own it for paths. */
int ports_open(struct ports *p, const struct policy *policy, bool are_paths, struct err *e);
/* One more; takes `at` over.  ERR_LIMIT: there are PUBLISH_MAX. */
int ports_add(struct ports *p, struct listener *at, uint16_t guest, struct err *e);
/* It and its visits.  ERR_NOT_FOUND. */
int ports_remove(struct ports *p, const char *host, struct err *e);

/* Which were found in a range, a line each. */
void ports_tell(const struct ports *p, int to);

/* Lets them in from now on; the executor has said hello. */
void ports_begin(struct ports *p, struct channel *c);
/* Nobody new is let in. */
void ports_close(struct ports *p);

/* The descriptors that all visits may have from now on, and those that they have.  Until
 * the first is called they may have as many as there are. */
void ports_allow(struct ports *p, size_t fds);
size_t ports_visit_fds(const struct ports *p);

/* To be polled for POLLIN; -1: nothing. */
int ports_fd(const struct ports *p);
/* All that is open but for visits; returns how many. */
#define PORTS_FDS (PUBLISH_MAX + 1)
size_t ports_fds(const struct ports *p, int ret[PORTS_FDS]);
/* The visits of one port. */
size_t ports_count(const struct ports *p, const struct port *port);
/* When ports_work() has something to do without an event, in ms of clock.h: 0: never;
 * PORTS_AT_ONCE: a time that is past whenever this is asked. */
#define PORTS_AT_ONCE 1
int64_t ports_due(const struct ports *p);
/* Moves what can be moved and lets in who can be.  -1: the channel is broken. */
int ports_work(struct ports *p, bool has_events, int64_t now, struct err *e);

/* "finished" or "closed".  -1: it breaks the protocol. */
int ports_frame(struct ports *p, const struct frame *f, struct err *e);

/* Nobody is inside any more: what was said is handed over, within a second; from then on
 * clients who have not taken it are reset. */
void ports_end(struct ports *p);
/* One turn of ports_end(), at `now`.  True: no visit is left; from `due` on none is. */
bool ports_part(struct ports *p, int64_t due, int64_t now);
