/* lease -- ties a sandbox's life to one connection (`hutch create --lease FD`).
 *
 * The creator of the sandbox keeps the other end of a socketpair(2), which serves as a
 * connection of docs/control.md from the beginning.  So its holder need not connect,
 * and no other process can connect in its place.  A lease has three states:
 *
 * 	waiting		the holder has sent nothing yet.  The sandbox stays unused:
 * 			other clients may inspect and end it, other requests of theirs
 * 			fail with `busy`; no time-out runs
 * 	held		the holder has sent its hello.  The sandbox is like any other,
 * 			for all clients
 * 	released	the lease is over; the connection's end has no effect
 *
 * In the first two states the sandbox ends when the connection is closed.  The
 * connection is a descriptor, so it can be passed to another process (SCM_RIGHTS).  The
 * kernel closes it when its holder dies, even while it is being passed, so no sandbox
 * can remain that no process knows of. */
#pragma once
#include <stdbool.h>

struct request;
struct client;
struct err;
struct supervisor;

struct lease {
	int fd;		       /* owned, until lease_serve(): the supervisor's end of
				* the connection; 0 or less: no lease */
	struct client *holder; /* borrowed; the client that has the lease; NULL: there
				* is none */
	bool is_waiting;
};

/* Makes the lease's connection a client of the supervisor. */
void lease_serve(struct supervisor *s);

/* Called when a client has sent its hello.  If it is the holder, the sandbox is held
 * from now on. */
void lease_take(struct supervisor *s, const struct client *c);

/* Checks whether the client may make a request now.  -1: the sandbox is in the state
 * `waiting`, and only the holder may make it. */
int lease_check(const struct supervisor *s, const struct client *c, struct err *e);

/* Called when client `c` has closed its connection.  True: `c` is the holder, and the
 * sandbox ends now. */
bool lease_leave(struct supervisor *s, const struct client *c);

/* Returns the state of the lease as JSON for the info: "\"waiting\"", "\"held\"" or
 * "null". */
const char *lease_state(const struct lease *l);

/* The method `release`, which ends the lease.  If the holder has closed its connection,
 * the request is refused and the sandbox ends. */
int lease_release(const struct request *call);
