/* halt -- a process of the executor's own that the inside has stopped.
 *
 * Such a process, a copy or a worker, has the user id of the commands, so each of them can
 * send it SIGSTOP, and no filter tells that kill(2) from one that a shell needs.  Landlock's
 * signal scope (ABI 6) would, if the commands shared a domain that the process is not in; a
 * domain is entered by one thread and handed on by fork(2) alone, so all commands would
 * have to descend from a second thread of pid 1, whose number the floor does not guard as
 * it guards 1.  Therefore the parent, which is pid 1, looks: the kernel tells it and nobody
 * else what a child's state is, on every version, and SIGKILL ends what stands still.
 *
 * A look is made every HALT_EVERY_MS.  One that finds the process stopped continues it, so
 * that a single SIGSTOP costs no more than that.  Looks that found it stopped are counted
 * and never forgiven: whoever lets it run for a moment now and then gains nothing.
 *
 * Times are in ms of everyone_now(), which stands still while everyone is paused: then a
 * process is stopped by right. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HALT_EVERY_MS 500
/* 10 s of being stopped, in all. */
#define HALT_MOST 20

struct halt {
	int64_t due;	/* the next look */
	unsigned count; /* looks that found it stopped */
};

enum halt_step {
	HALT_GOES_ON,	    /* it runs, or it is too early for a look */
	HALT_IS_CONTINUED,  /* it is to get SIGCONT */
	HALT_HAS_TAKEN_ALL, /* the same, and it was stopped for as long as it may */
};

/* The step that a look at `now` leads to. */
enum halt_step halt_step(struct halt *h, bool is_stopped, int64_t now);

/* Whether this child is stopped at this moment, by a signal.  It is not reaped. */
bool halt_has(pid_t pid);
/* Continues a child and its process group, which it may not lead yet.  It is not reaped,
 * so the number is its own. */
void halt_end(pid_t pid);
