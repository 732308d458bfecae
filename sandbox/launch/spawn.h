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

#include "sandbox/monitor/broker.h"
#include "sandbox/monitor/denials.h"
#include "sandbox/root/root_fuse.h"

struct err;
struct plan;
struct program;
struct seccomp_program;
struct trace;

struct sandbox {
	pid_t pid;   /* of pid 1, as the host numbers it; 0: none */
	int pidfd;   /* owned */
	int channel; /* owned: the socket to the executor, which speaks
		      * docs/protocol.md */
	int failure; /* owned: spawn_hear() reads it; execveat() inside closes its other
		      * end */
	struct root_fuse fuse; /* owned: the process that serves the root; pid 0: none */
	int upper; /* owned: the folder that an overlay's root writes to; -1: none */
	struct denials denials; /* owned; for the filter of spawn_parts */
	struct broker broker; /* owned: the process that makes names for the inside; pid
			       * 0: none */
};

/* All that a child needs beside its plan; borrowed. */
struct spawn_parts {
	const struct plan *plan;
	const struct program *executor;
	const struct program *server; /* serves the root; NULL: the root is not served */
	const struct seccomp_program *filter; /* lives as long as the sandbox */
	const int *stdio; /* three descriptors of the caller's that the command gets as
			   * they are; NULL: it gets none */
	int cgroup; /* the folder of a cgroup to be cloned into; 0 or less: none */
	bool tells; /* the filter reports refused calls, if it can; no filter on top
		     * refuses any */
	struct trace *trace; /* notes calls down; NULL: none are.  With it, that there can
			      * be no listener is an error. */
	bool has_proc; /* the executor gets a procfs of its own (docs/protocol.md) */
};

void sandbox_init(struct sandbox *s);

/* Kills the processes that are left, waits for them, closes everything. */
void sandbox_done(struct sandbox *s);

int spawn_sandbox(const struct spawn_parts *parts, struct sandbox *ret, struct err *e);

/* For when `failure` became readable, or the child has ended. */
enum spawn_news {
	SPAWN_GOES_ON, /* there was nothing yet, or s->upper, or a listener */
	SPAWN_GAVE_UP, /* the set-up failed; *ret_cause is why */
	SPAWN_DONE     /* the child reached execveat */
};
#define SPAWN_NEWS_MAX 3 /* messages that there can be, without the last */
enum spawn_news spawn_hear(struct sandbox *s, struct err *ret_cause);
