/* records -- writes the supervisor's entries in the audit log (sandbox/launch/audit.h):
 * processes and copies that clients start, and requests that change the sandbox.  The
 * entries of actions are written elsewhere. */
#pragma once
#include <stdint.h>

struct client;
struct err;
struct job;
struct supervisor;

/* Records the start of a process or copy; to be called before it is started.  -1: it
 * must not be started.  `c` NULL: the sandbox's main process, of no client. */
int records_begin(struct supervisor *s, const struct client *c, struct job *j,
		  struct err *e);
/* Records that a process has ended; or, if `why` is not NULL, that it could not be
 * started, and the reason. */
void records_end(struct supervisor *s, const struct job *j, const char *why);

/* Records a request that changes the sandbox's state: "pause", "rename", ... */
int records_request(struct supervisor *s, const struct client *c, const char *method,
		    struct err *e);

/* Records the request "update", with the limits that it asks for. */
struct limits;
int records_update(struct supervisor *s, const struct client *c, const struct limits *l,
		   struct err *e);

/* Records a request about connections, with its params. */
struct request;
int records_net(const struct request *call, struct err *e);

/* Records a connection from another sandbox (net.connect).  `why` NULL: it is allowed. */
struct records_peer {
	const char *network, *from; /* `from` NULL: a sandbox without a name */
	uint16_t port;
	const char *why;
};
void records_peer(struct supervisor *s, const struct records_peer *x);

/* Records the end of the sandbox. */
void records_finish(struct supervisor *s);

/* Records that a protected file was replaced on the host; called when all processes
 * inside have stopped. */
void records_unprotected(struct supervisor *s, const struct err *why);
