/* spawn -- from a plan to a running executor.
 *
 * spawn_sandbox() clones a child into all namespaces at once.  The child sets the
 * sandbox up in stages.  It ends with execveat() of the executor, as pid 1 of the
 * finished sandbox, or it sends one struct err over the socket `failure`.  The parent
 * does not wait for the child: its poll loop watches `failure` and `channel` together
 * with everything else. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/monitor/broker.h"
#include "sandbox/monitor/denials.h"
#include "sandbox/root/root_fuse.h"

struct err;
struct netns;
struct plan;
struct program;
struct seccomp_program;
struct trace;

struct sandbox {
	pid_t pid;   /* pid 1 of the sandbox, as the host numbers it; 0: there is no
		      * process */
	int pidfd;   /* owned; of pid 1 */
	int channel; /* owned: the socket to the executor (docs/protocol.md) */
	int failure; /* owned: the socket for the child's report, which spawn_hear()
		      * reads; execveat() closes the child's end */
	struct root_fuse fuse; /* owned: the process that serves the root, if there is no
				* overlayfs; pid 0: none */
	int upper; /* owned: the folder that holds the files written to an overlay's
		    * root; -1: none */
	struct denials denials; /* owned: the system calls that spawn_parts.filter has
				 * refused */
	struct broker broker; /* owned: the broker, which makes mkdir(2) and similar
			       * calls in place of processes inside; pid 0: none */
};

/* All inputs of a child; borrowed. */
struct spawn_parts {
	const struct plan *plan;
	const struct program *executor;
	const struct program *server; /* the program that serves the root if there is no
				       * overlayfs; NULL: the root is not served */
	const struct seccomp_program *filter; /* the executor's filter; lives as long
					       * as the sandbox */
	const int *stdio; /* three descriptors of the caller's that become the command's
			   * stdin, stdout and stderr; NULL: the command gets none of the
			   * caller's */
	int gateway; /* the socket to hutch-gate, which connects the sandbox's network
		      * (egress.h); 0 or less: the sandbox has a loopback device only */
	/* the network namespace that the child is made in, if it has an owner; NULL or
	 * without one: the child is made in this process's, unless the plan has one of
	 * its own */
	const struct netns *netns;
	int cgroup; /* the folder of the cgroup that the child is cloned into; 0 or less:
		     * none */
	/* the filter reports refused calls to hutch, if the kernel supports that; only
	 * set if no filter on top of it refuses calls */
	bool tells;
	struct trace *trace; /* records system calls; NULL: they are not recorded.  With
			      * a trace, the launch fails if there can be no seccomp
			      * listener. */
	bool has_proc; /* the executor gets a procfs of its own (docs/protocol.md) */
};

void sandbox_init(struct sandbox *s);

/* Kills the processes that are left, waits for them, and closes everything. */
void sandbox_done(struct sandbox *s);

int spawn_sandbox(const struct spawn_parts *parts, struct sandbox *ret, struct err *e);

/* The result of spawn_hear(), which is to be called when `failure` is readable or the
 * child has ended. */
enum spawn_news {
	SPAWN_GOES_ON, /* there was nothing to read, or there was news of the set-up: the
			* overlay's upper folder or the seccomp listener */
	SPAWN_GAVE_UP, /* the set-up failed; *ret_cause is why */
	SPAWN_DONE     /* the child reached execveat, and the socket has closed */
};
#define SPAWN_NEWS_MAX 3 /* the most messages of a child before the last one */
enum spawn_news spawn_hear(struct sandbox *s, struct err *ret_cause);
