/* workers -- processes that do long work in the executor's place, so that no other
 * request waits for it: errands.h, lints.h.
 *
 * Each runs in a copy of the executor's memory (spawn.h), holds one pipe, as
 * descriptors 0, 1 and 2, and writes its result there.  Its kind reports it once: when
 * the process has ended, was cancelled, or its time has passed, which stands still
 * during a pause.  Then the process and its process group are killed.  A process that
 * cannot be killed, since it waits for a file system, is forgotten when it ends.  The
 * executor continues a worker that the inside has stopped (halt.h); a worker that is
 * stopped when its time has passed is not asked for its last words.
 *
 * One turn of the executor's loop: workers_watch, poll(2) until workers_due at most,
 * workers_serve, workers_reaped for each child that is no command, workers_expire.
 * workers_look, due at workers_look_due, checks for stopped workers.  `now` is that
 * turn's, in ms of all_processes_now(), as all times are. */
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

/* How many workers of all kinds may exist at a time. */
#define WORKERS_MAX 32

/* The reason for a worker's report: its process has ended, it was cancelled, or its time
 * has passed. */
enum worker_end { WORKER_ENDED, WORKER_CANCELLED, WORKER_LATE };

struct worker_kind {
	/* Puts the worker's result into s->replies. */
	void (*tell)(const struct workers *s, struct worker *w, enum worker_end how);
	/* Frees *w and the struct of its kind around it. */
	void (*free)(struct worker *w);
	size_t most;	/* how many workers of this kind may exist at a time */
	size_t got_max; /* how many bytes a worker of this kind may write */
	/* The time from SIGALRM, which asks a worker for its results so far, to
	 * SIGKILL; 0: it is killed without being asked. */
	int64_t last_words_ms;
};

/* The first member of each kind's own struct.  All zero but for `kind`, `id` and
 * `takes_back` before workers_start(), and only to be read from then on. */
struct worker {
	const struct worker_kind *kind; /* borrowed */
	uint32_t id;			/* of the request that the worker answers */
	pid_t pid;
	int out, status;   /* owned; the worker's pipe and the status pipe of spawn.h; -1
			    * once the worker was reported */
	struct buffer got; /* bytes that the worker has written so far */
	int64_t due;	   /* the worker's deadline, in ms of all_processes_now();
			    * INT64_MAX: none */
	struct halt halt;
	bool takes_back;   /* the worker undoes unfinished work when asked, so it must be
			    * asked before it is killed */
	bool was_asked;	   /* the worker got SIGALRM, which asks for its results so far */
	bool is_cancelled;
	bool is_told;	   /* the worker was reported, and only has to be reaped */
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

/* The work of one worker; all borrowed. */
struct worker_task {
	const struct exec *exec; /* borrowed; names the user and the limits of the
				  * worker */
	void (*run)(const void *what); /* does the work in the worker's process, and
				        * exits */
	const void *what;
	uint64_t timeout_ms; /* 0: no time-out */
};

/* Starts a worker, and takes over `w`.  Returns -1 with errno set (EAGAIN: there are too
 * many): the caller still owns `w`, and no report about it will come. */
int workers_start(struct workers *s, struct worker *w, const struct worker_task *task,
		  int64_t now);

/* Returns true if a worker has this id and was not reported yet. */
bool workers_has(const struct workers *s, uint32_t id);
/* Cancels a worker, which is reported at once or, if it must undo its work, when it has
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

/* Returns the step for a worker at `now`: nothing, SIGALRM to ask for its results so
 * far, or its end.  The step depends on the worker's deadline, and on whether it is
 * stopped. */
enum worker_step { WORKER_GOES_ON, WORKER_IS_ASKED, WORKER_IS_GIVEN_UP };
enum worker_step worker_step(const struct worker *w, bool is_stopped, int64_t now);
