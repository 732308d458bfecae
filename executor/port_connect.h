/* port_connect -- connections to ports inside, which the supervisor asks for
 * (docs/protocol.md).
 *
 *	state		leaves it when
 *	CONNECTING	connected				-> OPEN
 *			refused: ::1 after 127.0.0.1, else	-> CLOSED
 *	OPEN		both directions ended, or one broke,
 *			or "hangup" came			-> CLOSED
 *	CLOSED		MSG_CLOSED was put into the output	-> forgotten
 *
 * Both addresses are in the network namespace of the executor, which is the sandbox's.
 * The descriptors of all connections are in one epoll(7), so a connection without events
 * costs no work, and a sandbox without connections has no epoll(7).
 *
 * One turn of the executor's loop is: poll(2) for port_connect_fd() too,
 * port_connect_serve() if that is readable or port_connect_has_more(),
 * port_connect_report(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct dial;
struct err;
struct processes;

struct port_connect {
	struct dial **all; /* owned; the array of connections */
	size_t count, room;
	int epoll;	   /* owned; the epoll(7) of all connections; -1 before the first
			    * connection */
	bool has_more;	   /* bytes are left to move for which epoll(7) reports no further
			    * event */
	bool has_news;	   /* there is something to report to the supervisor */
	struct processes *processes; /* borrowed; counts the descriptors */
};

struct dial_request {
	uint32_t id, port;
	int in, out; /* taken over by port_connect_start(); the ends of the supervisor's
		      * pipes */
};

void port_connect_init(struct port_connect *d, struct processes *processes);
void port_connect_done(struct port_connect *d);

bool port_connect_has(const struct port_connect *d, uint32_t id);

/* Begins a connection; a failure is reported to the supervisor.  The connection's id must
 * not be in use. */
void port_connect_start(struct port_connect *d, const struct dial_request *request);
/* Handle MSG_FINISH (the supervisor sends no more bytes) and MSG_HANGUP (the connection
 * is to be reset).  A connection that was already forgotten is ignored: it may have
 * closed before the supervisor heard of that. */
void port_connect_finish(struct port_connect *d, uint32_t id);
void port_connect_hang_up(struct port_connect *d, uint32_t id);

/* Returns the descriptor to poll for POLLIN; -1: there is nothing to poll. */
int port_connect_fd(const struct port_connect *d);
bool port_connect_has_more(const struct port_connect *d);
/* Moves the bytes of the connections that have an event. */
void port_connect_serve(struct port_connect *d);
/* Returns true if every open connection's output was moved to the supervisor's pipe, up
 * to its end. */
bool port_connect_are_reported(const struct port_connect *d);

/* Puts reports about connections into `out`, and forgets the connections whose end was
 * reported. */
int port_connect_report(struct port_connect *d, struct buffer *out, struct err *e);
