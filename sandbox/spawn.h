/* spawn -- from a plan to a running executor.
 *
 * spawn_sandbox() clones a child into all namespaces at once.  The child goes
 * through its stages, ends in execveat() of the executor, and either is then
 * pid 1 of a finished sandbox or has sent one struct err over a socket.  The
 * parent does not wait for it: it watches `failure` and `channel` together
 * with everything else. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/deputy.h"
#include "sandbox/fuse.h"
#include "sandbox/refusals.h"

struct err;
struct plan;
struct program;
struct seccomp_program;
struct trace;

struct sandbox {
	pid_t pid;   /* of pid 1, as the host numbers it; 0: none */
	int pidfd;   /* owned */
	int channel; /* owned: the supervisor's end of docs/protocol.md */
	int failure; /* owned: what spawn_hear() reads; closed by execveat() inside */
	struct fuse fuse; /* owned: who serves the root; pid 0: nobody */
	int upper; /* owned: the folder that an overlay's root writes to; -1: it has none */
	struct refusals refusals; /* owned; by the filter of spawn_parts */
	struct deputy deputy; /* owned: who makes names for the inside; pid 0: nobody */
};

/* What a child needs beside its plan; all borrowed. */
struct spawn_parts {
	const struct plan *plan;
	const struct program *executor;
	const struct program *server; /* of a root that is served, else NULL */
	const struct seccomp_program *filter; /* lives as long as the sandbox */
	const int *stdio; /* three of the caller's that the command gets as they are; NULL:
			   * it gets none of them */
	int cgroup; /* a cgroup's folder, to be cloned into; 0 or less: none */
	bool tells; /* what the filter refuses is told, if it can be; nothing on top of it
		     * refuses anything */
	struct trace *trace; /* what is called is noted down here; NULL: nothing is.  That
			      * there can be no listener is then an error. */
	bool has_proc; /* the executor gets a procfs of its own (docs/protocol.md) */
};

void sandbox_init(struct sandbox *s);

/* Kills what is left, waits for it, closes everything. */
void sandbox_done(struct sandbox *s);

int spawn_sandbox(const struct spawn_parts *parts, struct sandbox *ret, struct err *e);

/* After `failure` became readable, or when the child has ended. */
enum spawn_news {
	SPAWN_GOES_ON, /* there was nothing, or s->upper, or a listener */
	SPAWN_GAVE_UP, /* *ret_cause is why */
	SPAWN_DONE     /* it reached execveat */
};
#define SPAWN_NEWS_MAX 3 /* that there are, but for the last */
enum spawn_news spawn_hear(struct sandbox *s, struct err *ret_cause);
