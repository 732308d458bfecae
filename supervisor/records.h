/* records -- writes the supervisor's own entries of the audit log
 * (sandbox/launch/audit.h), beside those of actions: processes and copies that clients
 * start, and requests that change the sandbox. */
#pragma once

struct client;
struct err;
struct job;
struct supervisor;

/* Records a process or a copy; to be called before that is begun.  -1: it must not be
 * begun. */
int records_begin(struct supervisor *s, const struct client *c, struct job *j,
		  struct err *e);
/* Records that a process has ended, or could not be started because of `why`; NULL: it
 * was started. */
void records_end(struct supervisor *s, const struct job *j, const char *why);

/* Records a request that changes the sandbox's state: "pause", "rename", ... */
int records_request(struct supervisor *s, const struct client *c, const char *method,
		    struct err *e);

/* Records the request "update", with the limits that it asks for. */
struct limits;
int records_update(struct supervisor *s, const struct client *c, const struct limits *l,
		   struct err *e);

/* Records the end of the sandbox. */
void records_finish(struct supervisor *s);

/* Records that a protected file was replaced on the host, and that all processes
 * inside stand still. */
void records_unprotected(struct supervisor *s, const struct err *why);
