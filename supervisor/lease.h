/* lease -- a sandbox that ends with one connection (`hutch create --lease FD`).
 *
 * The process that makes the sandbox keeps the other end of a socketpair(2),
 * which is a connection of docs/control.md from the start; it need not connect,
 * and no other process can connect in its place.  Three states:
 *
 *	waiting		as made: the holder has said nothing.  The sandbox is fresh, and
 *			stays so: other clients may look at it and end it, and get
 *			`busy` for the rest; none of its time-outs runs
 *	held		from the holder's hello on: it is like any sandbox, for all
 *	released	the lease is over, and the sandbox lives on
 *
 * In the first two the connection's end is the sandbox's.  The connection is a
 * descriptor, so it can be handed to another process (SCM_RIGHTS), and the
 * kernel closes it whatever becomes of the process that has it, or is about to
 * get it: a sandbox is never left behind unknown. */
#pragma once
#include <stdbool.h>

struct request;
struct client;
struct err;
struct supervisor;

struct lease {
	int fd;		       /* owned, until lease_serve(): our end of the
			        * connection; 0 or less: no lease */
	struct client *holder; /* borrowed; the client with the lease; NULL: none, not
			        * yet or any more */
	bool is_waiting;
};

/* Makes the lease's connection one of the supervisor's clients. */
void lease_serve(struct supervisor *s);

/* Called when a client has said hello: if the client is the holder, it takes the
 * sandbox. */
void lease_take(struct supervisor *s, const struct client *c);

/* Checks whether the client may make this request.  -1: the sandbox waits, and only
 * the holder may make it. */
int lease_check(const struct supervisor *s, const struct client *c, struct err *e);

/* Called when the connection of client `c` has ended.  True: `c` was the holder, and
 * the sandbox ends now. */
bool lease_leave(struct supervisor *s, const struct client *c);

/* Returns the state of the lease as the info has it: "\"waiting\"", "\"held\"" or
 * "null". */
const char *lease_state(const struct lease *l);

/* Does the method `release`, which ends the lease.  Refused, and the sandbox ends, if
 * the holder has gone by then. */
int lease_release(const struct request *call);
