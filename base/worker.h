/* worker -- a child process that does one piece of work for its parent, and tells how
 * it went.
 *
 *	worker_run		starts a worker and waits for it
 *
 * or, where the parent goes on meanwhile:
 *
 *	worker_start		forks
 *	worker_wait		returns the work's result or its error
 *	worker_end		in place of worker_wait: kills the worker
 *
 * The child runs a function, and sends a struct err and a result through a pipe, which is
 * close-on-exec, in one write(2).  worker_wait() reads them after the child has ended, so
 * that it never waits for a process that holds the pipe but does not write.  A child that
 * sends nothing is an error (ERR_SYSTEM), which says how the child ended: "NAME was ended
 * by signal 9".
 *
 * For programs that a process executes, and for processes that outlive one answer (a
 * broker, a janitor, a pool), this module has only worker_reap(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define WORKER_FDS_MAX	  4
#define WORKER_RESULT_MAX 2048 /* the bound of a result in bytes; with a struct err it
				* is less than PIPE_BUF */

struct worker_task {
	const char *name; /* the worker's name for errors: "the process that ...";
			   * outlives the worker */

	/* Does the work in the child.  Returns 0 with the result in `result`, which is
	 * zeroed before; or -1 with `e`, never NULL, set.  `arg` is the child's copy. */
	int (*work)(void *arg, void *result, struct err *e);
	/* NULL, or runs in the child before the work, with the same arg.  Then only
	 * setup reports an error: if the work fails, worker_wait() says that there
	 * was no result.  This is for work on hostile bytes: an error text of theirs
	 * must not reach a user. */
	int (*setup)(void *arg, struct err *e);
	void *arg;
	size_t result_len; /* the size of the result, at most WORKER_RESULT_MAX */

	/* Borrowed: the only descriptors above 2 that the child keeps, under the same
	 * numbers.  Others are closed, since a pipe's writing end that stayed open in
	 * a child would keep the pipe's reader waiting. */
	int fds[WORKER_FDS_MAX];
	size_t fd_count;
	bool has_all_fds; /* the child keeps all descriptors */

	/* Flags for clone3(2).  CLONE_NEW*: the child is made in new namespaces.
	 * CLONE_FILES, with has_all_fds: parent and child have one table of
	 * descriptors. */
	uint64_t flags;

	/* Each is NULL, or points to a variable that is set, in the child, to the
	 * number of a descriptor before the work begins; the parent's variable is not
	 * changed. */
	int *leash;  /* every process that the work starts must hold this descriptor
		      * open; then worker_wait() and worker_end() wait for these
		      * processes, too */
	int *answer; /* the descriptor that carries the answer.  Work that moves it to
		      * another number sets this variable */
};

/* A worker that was started.  The zero object has no child. */
struct worker {
	pid_t pid;	  /* 0: no child, or it was waited for */
	int answer;	  /* owned: readable once the child has answered or ended */
	int leash;	  /* owned: the pipe's end that shows when the work's processes
			   * have ended; -1: none */
	int shared;	  /* owned: the writing end of the answer's pipe with CLONE_FILES;
			   * else -1 */
	size_t result_len;
	const char *name; /* borrowed: the worker's name, for errors */
};

/* Starts a worker: forks, or with flags calls clone3(2).  Returns -1 if there is no
 * child; errno is then that of the call that failed, and *ret is the zero object.
 *
 * The parent must have one thread: work may allocate memory, and a lock that another
 * thread held would stay locked in the child.
 *
 * The child is killed (SIGKILL) when its parent ends, until it changes its ids,
 * which clears that (prctl(2), PR_SET_PDEATHSIG).  The child ignores SIGPIPE, so
 * that write(2) fails with EPIPE; blocked signals stay blocked, other dispositions
 * stay as they are. */
int worker_start(const struct worker_task *t, struct worker *ret, struct err *e);

/* Waits until the setup of the worker is done.  Returns -1, with the setup's error, if it
 * failed; the worker has then ended and was waited for.  After success worker_end() may
 * follow, and no worker_wait(). */
int worker_await_setup(struct worker *w, struct err *e);

/* Waits for the child, also across signals of this process, and releases the worker.
 * Returns 0, with result_len bytes in *ret_result, or -1 with the work's error.  A
 * child that reads foreign bytes may have sent anything: the err is made safe
 * (err_sanitize()), the caller checks the result. */
int worker_wait(struct worker *w, void *ret_result, struct err *e);

/* Kills the child, unless it was waited for, and waits for its end. */
void worker_end(struct worker *w);

/* Calls worker_start() and worker_wait(). */
int worker_run(const struct worker_task *t, void *ret_result, struct err *e);

/* Waits for the end of any child, across signals.  Returns its wait(2) status; -1, which
 * is neither an exit nor a signal, if SIGCHLD is ignored and the status lost. */
int worker_reap(pid_t pid);
