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
	int fd;		       /* owned, until lease_serve(); 0 or less: none */
	struct client *holder; /* borrowed; NULL: none, not yet or any more */
	bool is_waiting;
};

/* Makes its connection a client's. */
void lease_serve(struct supervisor *s);

/* A client has said hello: if it is the holder, it takes the sandbox. */
void lease_take(struct supervisor *s, const struct client *c);

/* -1: the sandbox waits, and only the holder may make this request. */
int lease_check(const struct supervisor *s, const struct client *c, struct err *e);

/* `c` has ended.  True: it was the holder, and the sandbox ends now. */
bool lease_leave(struct supervisor *s, const struct client *c);

/* The state as info has it: "\"waiting\"", "\"held\"" or "null". */
const char *lease_state(const struct lease *l);

/* The method `release`.  Refused, and the sandbox ends, if the holder has gone
 * by then. */
int lease_release(const struct request *call);
