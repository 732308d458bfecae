/* halt -- finds and continues the executor's own helper processes that a command has
 * stopped.
 *
 * Such a helper, a copy (copy.h) or a worker (workers.h), has the user id of the
 * commands, so each of them can send it SIGSTOP, and no seccomp filter can tell that
 * kill(2) from one that a shell needs.  Landlock's signal scope (ABI 6) could forbid it
 * if all commands were in one domain and the helper outside.  But a domain is entered by
 * one thread and inherited by fork(2) only, so all commands would have to descend from a
 * second thread of pid 1; the sandbox's seccomp filter keeps commands from calls like
 * prlimit64(2) on pid 1, but not on the id of that thread.  Therefore pid 1 checks its
 * children: on every kernel a parent is told of its child's stop, and SIGKILL ends a
 * stopped process.
 *
 * A check is made every HALT_EVERY_MS.  If the helper is stopped, it gets SIGCONT, so a
 * single SIGSTOP delays it by that time at most.  The checks that found it stopped are
 * counted, and the count is never reset: a command that lets the helper run now and then
 * gains nothing.
 *
 * Times are in ms of all_processes_now(), which stands still during a pause, when the
 * helper is stopped on purpose. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HALT_EVERY_MS 500
/* After this many checks that found the process stopped, 10 s in all, it is killed. */
#define HALT_MOST 20

struct halt {
	int64_t due;	/* the time of the next check */
	unsigned count; /* number of checks that found the process stopped */
};

enum halt_step {
	HALT_GOES_ON,	    /* the process runs, or its next check is not due yet */
	HALT_IS_CONTINUED,  /* the process was stopped: the caller sends SIGCONT */
	HALT_HAS_TAKEN_ALL, /* the process was stopped for as long as is permitted: the
			     * caller ends it */
};

/* Returns the step that a check at `now` leads to, and sets the time of the next check in
 * *h. */
enum halt_step halt_step(struct halt *h, bool is_stopped, int64_t now);

/* Returns true if this child is stopped at this moment, by a signal.  The child must not
 * be reaped. */
bool halt_has(pid_t pid);
/* Continues a child and its process group; the child may not lead a group yet.  The child
 * must not be reaped, so that its pid cannot have been reused. */
void halt_end(pid_t pid);
