/* spawn -- from a plan to a running executor.
 *
 * spawn_sandbox() clones a child into all namespaces at once.  The child goes
 * through its stages, ends in execveat() of the executor, and either is then pid 1
 * of a finished sandbox or has sent one struct err over a socket.  The parent does
 * not wait for the child: the parent watches `failure` and `channel` together with
 * everything else. */
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
	pid_t pid;   /* pid 1 of the sandbox, as the host numbers it; 0: none */
	int pidfd;   /* owned; of pid 1 */
	int channel; /* owned: the socket to the executor, which speaks
		      * docs/protocol.md */
	int failure; /* owned: the socket for the child's report, which spawn_hear()
		      * reads; execveat() closes the child's end */
	struct root_fuse fuse; /* owned: the process that serves the root; pid 0: none */
	int upper; /* owned: the folder that an overlay's root writes to; -1: none */
	struct denials denials; /* owned: calls that the filter of spawn_parts has
				 * refused */
	struct broker broker; /* owned: the process that makes names for the inside; pid
			       * 0: none */
};

/* All parts that a child needs; borrowed. */
struct spawn_parts {
	const struct plan *plan;
	const struct program *executor;
	const struct program *server; /* the program that serves the root; NULL: the
				       * root is not served */
	const struct seccomp_program *filter; /* the executor's filter; lives as long
					       * as the sandbox */
	const int *stdio; /* three descriptors of the caller's that the command gets as
			   * they are; NULL: the command gets none */
	int cgroup; /* the folder of a cgroup to be cloned into; 0 or less: none */
	bool tells; /* the filter reports refused calls, if the kernel can; set only if
		     * no filter on top refuses calls */
	struct trace *trace; /* notes system calls; NULL: they are not noted.  With a
			      * trace, the launch fails if there can be no listener. */
	bool has_proc; /* the executor gets a procfs of its own (docs/protocol.md) */
};

void sandbox_init(struct sandbox *s);

/* Kills the processes that are left, waits for them, and closes everything. */
void sandbox_done(struct sandbox *s);

int spawn_sandbox(const struct spawn_parts *parts, struct sandbox *ret, struct err *e);

/* The result of spawn_hear(), which is called when `failure` became readable, or the
 * child has ended. */
enum spawn_news {
	SPAWN_GOES_ON, /* nothing new has come, or a descriptor was taken: s->upper, or
			* a listener */
	SPAWN_GAVE_UP, /* the set-up failed; *ret_cause is why */
	SPAWN_DONE     /* the child reached execveat, and the socket has closed */
};
#define SPAWN_NEWS_MAX 3 /* the most messages of a child, without the last */
enum spawn_news spawn_hear(struct sandbox *s, struct err *ret_cause);
