/* workers -- processes that do something in the executor's place, so that nobody else
 * waits for it, however long it takes: errands.h, lints.h.
 *
 * Each runs in a copy of the executor's memory (spawn.h), holds one pipe, as descriptors
 * 0, 1 and 2, and writes there what came of it.  Its kind tells of it once: when the
 * process has ended, was cancelled, or had its time, which stands still while everyone is
 * paused.  Then it and what it started, as far as that is of its process group, are
 * killed; one that cannot be killed, since it waits for a file system, is forgotten when
 * it can be.  The executor continues a worker that the inside has stopped (halt.h); a worker
 * that is stopped when its time comes is not asked for last words.
 *
 * One turn of the executor's loop: workers_watch, poll(2) until workers_due at most,
 * workers_serve, workers_reaped for each child that is no command, workers_expire.  The
 * look for who is stopped is workers_look, by workers_look_due.
 * `now` is that turn's, and in ms of everyone_now(), as all times are. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "executor/halt.h"

struct everyone;
struct exec;
struct pollfd;
struct processes;
struct replies;
struct user;
struct worker;
struct workers;

/* Of all kinds. */
#define WORKERS_MAX 32

/* Why it is told about. */
enum worker_end { WORKER_ENDED, WORKER_CANCELLED, WORKER_LATE };

struct worker_kind {
	/* Says what came of it to s->replies. */
	void (*tell)(const struct workers *s, struct worker *w, enum worker_end how);
	/* Frees *w and what its kind put around it. */
	void (*free)(struct worker *w);
	size_t most;	/* of this kind at a time */
	size_t got_max; /* bytes that one may write */
	/* From SIGALRM, which asks for what it has, to SIGKILL; 0: it is not asked. */
	int64_t last_words_ms;
};

/* Stands at the beginning of what a kind knows of each.  All zero but for `kind`, `id` and
 * `takes_back` before workers_start(), and to be read only from then on. */
struct worker {
	const struct worker_kind *kind; /* borrowed */
	uint32_t id;			/* of the request */
	pid_t pid;
	int out, status;   /* owned; -1 once it was told about */
	struct buffer got; /* what it has written */
	int64_t due;	   /* in ms of everyone_now(); INT64_MAX: never */
	struct halt halt;
	bool takes_back;   /* what it has begun, when it is asked; else it need not be */
	bool was_asked;	   /* for its last words */
	bool is_cancelled;
	bool is_told;	   /* only to be reaped still */
};

/* Zero but for what is borrowed. */
struct workers {
	struct worker *all[WORKERS_MAX]; /* owned */
	size_t count;
	struct replies *replies;     /* borrowed */
	struct processes *processes; /* borrowed; counts the descriptors */
	const struct user *user;     /* borrowed */
	const struct everyone *everyone; /* borrowed */
};

void workers_done(struct workers *s);

/* What one does; all borrowed. */
struct worker_task {
	const struct exec *exec; /* as whom, and under which limits */
	void (*run)(const void *what); /* does it and exits */
	const void *what;
	uint64_t timeout_ms; /* 0: none */
};

/* Takes over `w`.  -1 with errno set (EAGAIN: there are too many): it is the caller's
 * still, and is not told about. */
int workers_start(struct workers *s, struct worker *w, const struct worker_task *task,
		  int64_t now);

/* True while it was not told about. */
bool workers_has(const struct workers *s, uint32_t id);
/* It is told about at once, or, if it takes back what it has begun, when it has.  False:
 * there is none of this id. */
bool workers_cancel(struct workers *s, uint32_t id, int64_t now);

/* At most WORKERS_MAX. */
size_t workers_watch(const struct workers *s, struct pollfd *fds);
void workers_serve(struct workers *s, const struct pollfd *fds);
/* False: it was none of these. */
bool workers_reaped(struct workers *s, pid_t pid);

/* When something is due; INT64_MAX: never.  Then workers_expire(). */
int64_t workers_due(const struct workers *s);
void workers_expire(struct workers *s, int64_t now);

/* When the next look is due; INT64_MAX: there is nobody to look at.  Then workers_look(). */
int64_t workers_look_due(const struct workers *s);
void workers_look(struct workers *s, int64_t now);

/* A worker's time leads to one of these steps at `now`. */
enum worker_step { WORKER_GOES_ON, WORKER_IS_ASKED, WORKER_IS_GIVEN_UP };
enum worker_step worker_step(const struct worker *w, bool is_stopped, int64_t now);
