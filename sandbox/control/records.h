/* records -- what a supervisor puts on record beside actions (sandbox/audit.h): what
 * clients start and copy, and how they steer the sandbox. */
#pragma once

struct client;
struct err;
struct job;
struct supervisor;

/* Before a process or a copy is begun.  -1: it is not to be. */
int records_begin(struct supervisor *s, const struct client *c, struct job *j,
		  struct err *e);
/* It has ended, or could not be started for a reason in `why`; NULL: it was. */
void records_end(struct supervisor *s, const struct job *j, const char *why);

/* A request that changes how the sandbox is: "pause", "rename", ... */
int records_request(struct supervisor *s, const struct client *c, const char *method,
		    struct err *e);

/* The request "update", with the limits that it asks for. */
struct limits;
int records_update(struct supervisor *s, const struct client *c, const struct limits *l,
		   struct err *e);

/* The end of the sandbox. */
void records_finish(struct supervisor *s);

/* What is protected was replaced on the host, and everybody stands still. */
void records_unprotected(struct supervisor *s, const struct err *why);
