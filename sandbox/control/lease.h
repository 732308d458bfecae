/* lease -- a sandbox that ends with one connection (`hutch create --lease FD`).
 *
 * Whoever makes it keeps the other end of a socketpair(2), which is a connection of
 * docs/control.md from the start; nobody had to connect, and nothing can be connected to
 * in its place.  Three states:
 *
 *	waiting		as made: the holder has said nothing.  The sandbox is fresh, and
 *			stays so: everybody else may look at it and end it, and is told
 *			`busy` for the rest; no time-out of it runs
 *	held		from the holder's hello on: it is as any sandbox, for everybody
 *	released	the lease is over, and the sandbox lives on
 *
 * In the first two the connection's end is the sandbox's.  It is a descriptor, so it can
 * be handed to another process (SCM_RIGHTS), and the kernel closes it whatever becomes of
 * whoever has it, or is about to: a sandbox is never left behind with nobody who knows. */
#pragma once
#include <stdbool.h>

struct call;
struct client;
struct err;
struct supervisor;

struct lease {
	int fd;		       /* owned, until lease_serve(); 0 or less: none */
	struct client *holder; /* borrowed; NULL: none, not yet or any more */
	bool is_waiting;
};

/* Its connection is a client's from now on. */
void lease_serve(struct supervisor *s);

/* Somebody has said hello: the holder takes the sandbox with it. */
void lease_take(struct supervisor *s, const struct client *c);

/* -1: the sandbox waits, and what `c` asks for is the holder's to ask. */
int lease_check(const struct supervisor *s, const struct client *c, struct err *e);

/* `c` is at its end.  True: it was the holder, and the sandbox ends now. */
bool lease_leave(struct supervisor *s, const struct client *c);

/* As info has it: "\"waiting\"", "\"held\"" or "null". */
const char *lease_state(const struct lease *l);

/* The method `release`.  Not done, and the sandbox ends, if the holder has gone by then. */
int lease_release(const struct call *call);
