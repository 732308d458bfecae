/* helper -- a `hutch` that runs for the library.
 *
 * It is a child, and waited for by its own pidfd alone: nothing is assumed about SIGCHLD,
 * and a host that takes all children (waitpid(2) with -1, or SIGCHLD ignored) only takes
 * its exit status, which what it said is worth more than.  It begins with no signal
 * blocked or ignored, as from a shell. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "hutch.h"

struct err;

struct helper {
	pid_t pid; /* 0: none */
	int status; /* of one that has ended: its exit code, or 128 and its signal; -1:
		     * somebody else has it */
	int ended; /* owned: a pidfd, which can be read when it has ended */
	int says;  /* owned: a socket */
};

void helper_init(struct helper *x);

struct helper_plan {
	const char *program;
	char *const *argv; /* from argv[0] on */
	int says_as;	   /* which of its descriptors is the other end of `says` */
	int notes;	   /* its stderr, where that is none; -1: nowhere */
};

int helper_start(struct helper *x, const struct helper_plan *plan, struct hutch_error *e);

/* To be called when it has ended, or to wait for that.  What it said, up to `size` - 1
 * bytes and a NUL; the descriptor that came with it in *ret_fd, as pass_receive() has
 * it. */
size_t helper_finish(struct helper *x, char *said, size_t size, int *ret_fd);

/* Kills it if it runs.  Not in a child of ours, whose helper it is not:
 * helper_leave(). */
void helper_kill(struct helper *x);
void helper_leave(struct helper *x);
