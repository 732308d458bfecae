/* helper -- runs the program `hutch` for the library.
 *
 * The helper is a child process, and waited for by its pidfd alone.  Nothing is
 * assumed about SIGCHLD: a host program that reaps all children (waitpid(2) with -1,
 * or SIGCHLD ignored) only takes the exit status, and the helper's output counts
 * more than its status.  The helper begins with no signal blocked or ignored, as if
 * started by a shell. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "hutch.h"

struct err;

struct helper {
	pid_t pid; /* the helper's pid; 0: no helper runs */
	int status; /* after its end: its exit code, or 128 + its signal; -1: the host
		     * program has taken the status */
	int ended; /* owned: a pidfd, readable when the helper has ended */
	int says;  /* owned: the socket that the helper's output comes from */
};

void helper_init(struct helper *x);

struct helper_plan {
	const char *program;
	char *const *argv; /* the helper's arguments, from argv[0] on */
	int says_as;	   /* the number that the helper's end of the socketpair gets in
			    * the helper */
	int notes;	   /* the descriptor that becomes the helper's stderr, unless
			    * `says_as` is 2; -1: /dev/null */
};

int helper_start(struct helper *x, const struct helper_plan *plan, struct hutch_error *e);

/* Waits for the helper's end.  Gives its output, up to `size` - 1 bytes and a NUL,
 * and in *ret_fd the descriptor that came with the output, as fd_pass_receive()
 * does. */
size_t helper_finish(struct helper *x, char *said, size_t size, int *ret_fd);

/* helper_kill() kills the helper if it runs.  In a child of fork(2) the helper
 * belongs to the parent: helper_leave() closes the child's copies of the descriptors,
 * and does nothing else. */
void helper_kill(struct helper *x);
void helper_leave(struct helper *x);
