/* workers -- processes that do long work for the executor, so that other requests need
 * not wait for it.  The kinds of workers are in errands.h and lints.h.
 *
 * A worker runs in a copy of the executor's memory (spawn.h).  Its descriptors 0, 1 and 2
 * are one pipe, to which it writes its result.  The function `tell` of its kind reports
 * the result once: when the process has ended, was cancelled, or has reached its
 * deadline, which a pause puts off.  A worker that has not ended by itself is killed,
 * with its process group.  A process that does not die at once, since it waits for a file
 * system, is reaped when it ends.  The executor continues a worker that a command has
 * stopped (halt.h); a worker that is stopped at its deadline is not asked for its results
 * so far.
 *
 * One turn of the executor's loop: workers_watch, poll(2) until workers_due at most,
 * workers_serve, workers_reaped for each child that is no command, workers_expire.
 * workers_look, due at workers_look_due, checks for stopped workers.  `now` is the time
 * of that turn; all times are in ms of all_processes_now(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "executor/process/halt.h"

struct all_processes;
struct exec;
struct pollfd;
struct processes;
struct send_queue;
struct user;
struct worker;
struct workers;

/* How many workers of all kinds may exist at the same time. */
#define WORKERS_MAX 32

/* The reason for a worker's report: its process has ended, it was cancelled, or its
 * deadline has passed. */
enum worker_end { WORKER_ENDED, WORKER_CANCELLED, WORKER_LATE };

struct worker_kind {
	/* Puts the worker's result into s->replies. */
	void (*tell)(const struct workers *s, struct worker *w, enum worker_end how);
	/* Frees *w and the struct of its kind that contains it. */
	void (*free)(struct worker *w);
	size_t most;	/* how many workers of this kind may exist at the same time */
	size_t got_max; /* how many bytes a worker of this kind may write */
	/* How long, in ms, a worker may run on after SIGALRM, which asks for its results
	 * so far, until SIGKILL; 0: it is killed without SIGALRM. */
	int64_t last_words_ms;
};

/* Must be the first member of each kind's own struct.  Before workers_start() the caller
 * sets `kind`, `id` and `takes_back`, and all else to zero; after it the caller may only
 * read. */
struct worker {
	const struct worker_kind *kind; /* borrowed */
	uint32_t id;			/* the id of the request that the worker
					 * answers */
	pid_t pid;
	int out, status;   /* owned; the worker's pipe and the status pipe of spawn.h; -1
			    * once the worker was reported */
	struct buffer got; /* bytes that the worker has written so far */
	int64_t due;	   /* the worker's deadline, in ms of all_processes_now();
			    * INT64_MAX: none */
	struct halt halt;
	bool takes_back;   /* the worker undoes unfinished work on SIGALRM, so it must get
			    * that before it is killed */
	bool was_asked;	   /* the worker got SIGALRM, which asks for its results so far */
	bool is_cancelled;
	bool is_reported; /* the worker's result was reported; its process is not reaped
			    * yet */
};

/* All workers of the executor.  Begins as a zeroed struct, with the borrowed fields
 * set. */
struct workers {
	struct worker *all[WORKERS_MAX]; /* owned */
	size_t count;
	struct send_queue *replies;     /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct all_processes *all_processes; /* borrowed */
};

void workers_done(struct workers *s);

/* The task of one worker; all pointers are borrowed. */
struct worker_task {
	const struct exec *exec; /* borrowed; names the user and the limits of the
				  * worker */
	void (*run)(const void *what); /* does the work in the worker's process, and
				        * exits; must not return */
	const void *what;
	uint64_t timeout_ms; /* 0: no time-out */
};

/* Starts a worker, and takes over `w`.  Returns -1 with errno set (EAGAIN: there are too
 * many); then the caller still owns `w`, and nothing will be reported about it. */
int workers_start(struct workers *s, struct worker *w, const struct worker_task *task,
		  int64_t now);

/* Returns true if a worker has this id and was not reported yet. */
bool workers_has(const struct workers *s, uint32_t id);
/* Cancels a worker.  It is reported at once or, if it must undo its work, after it has
 * done so.  Returns false if no worker has this id. */
bool workers_cancel(struct workers *s, uint32_t id, int64_t now);

/* Fills in at most WORKERS_MAX entries for poll(2), and returns how many entries it
 * filled in. */
size_t workers_watch(const struct workers *s, struct pollfd *fds);
void workers_serve(struct workers *s, const struct pollfd *fds);
/* Called for a child that has ended: reports the worker if that was not done yet, and
 * frees it.  Returns false if the child was no worker. */
bool workers_reaped(struct workers *s, pid_t pid);

/* Returns the time at which workers_expire() is due; INT64_MAX: never. */
int64_t workers_due(const struct workers *s);
void workers_expire(struct workers *s, int64_t now);

/* Returns the time at which workers_look() is due; INT64_MAX: there is no worker to
 * check. */
int64_t workers_look_due(const struct workers *s);
void workers_look(struct workers *s, int64_t now);

/* Returns the step for a worker at `now`: none, SIGALRM to ask for its results so far, or
 * SIGKILL.  The step depends on the worker's deadline, and on whether the worker is
 * stopped. */
enum worker_step { WORKER_GOES_ON, WORKER_IS_ASKED, WORKER_IS_GIVEN_UP };
enum worker_step worker_step(const struct worker *w, bool is_stopped, int64_t now);
