/* halt -- a process of the executor's own that the inside has stopped.
 *
 * Such a process, a copy or a worker, has the user id of the commands, so each of them
 * can send it SIGSTOP, and no filter tells that kill(2) from one that a shell needs.
 * Landlock's signal scope (ABI 6) would, if the commands shared a domain that the
 * process is not in; a domain is entered by one thread and handed on by fork(2) alone,
 * so all commands would have to descend from a second thread of pid 1, whose number the
 * seccomp floor does not guard as it guards 1.  Therefore the parent, pid 1, checks its
 * children: the kernel tells only a parent its child's state, on every version, and
 * SIGKILL ends a stopped process.
 *
 * A check is made every HALT_EVERY_MS.  If the process is stopped, the check continues
 * it, so a single SIGSTOP costs no more than that time.  Checks that found it stopped
 * are counted and never forgiven: a command that lets it run for a moment now and then
 * gains nothing.
 *
 * Times are in ms of all_processes_now(), which stands still during a pause, when a process
 * is stopped on purpose. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HALT_EVERY_MS 500
/* The process is given up after so many checks that found it stopped: 10 s in all. */
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

/* Returns the step that a check at `now` leads to, and notes the next check in *h. */
enum halt_step halt_step(struct halt *h, bool is_stopped, int64_t now);

/* Returns true if this child is stopped at this moment, by a signal.  The child must not
 * be reaped. */
bool halt_has(pid_t pid);
/* Continues a child and its process group, which it may not lead yet.  The child is not
 * reaped, so the pid is its own. */
void halt_end(pid_t pid);
