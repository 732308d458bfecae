/* apply_maker -- a second process that makes small files for an apply, under temporary
 * names, beside the first process.
 *
 *	apply_maker_start
 *	apply_maker_enter		the folder of the jobs that follow
 *	apply_maker_next		a job to fill
 *	apply_maker_put			the job is filled
 *	apply_maker_wait		the oldest job is done; the caller uses its file
 *	apply_maker_again		it has failed, and is done once more
 *	apply_maker_drop		the caller has used it
 *	apply_maker_end
 *
 * Both processes do jobs, the oldest first: while the first process waits for one, it
 * does others.  They share the memory of the jobs, of which there are at most
 * APPLY_MAKER_JOBS, and a socket, by which they wake each other.  The folder goes through
 * that socket, as a descriptor.
 *
 * The second process has the rights of the first, and above 2 no descriptor but those it
 * was given.  If it is stopped (SIGSTOP) in the middle of a job, the first one tells it to
 * go on.  It ends when the first one does, even by SIGKILL (worker.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "rootfs-tools/changes/apply_job.h"

#define APPLY_MAKER_JOBS 64u

struct err;

/* The name of a job's temporary file. */
struct apply_name {
	char text[64];
};

struct apply_maker {
	struct apply_ring *ring; /* owned: the memory of both; NULL: not started */
	struct worker worker;
	int socket;	      /* owned */
	int at;		      /* owned: the folder of the jobs; -1: none yet */
	uint32_t folder;      /* how many folders were sent */
	uint32_t first, next; /* the number of the oldest job, and of the next one */
};

/* Returns whether this process may run on two processors: on one, a second process would
 * only be in the way. */
bool apply_maker_can_help(void);

/* Starts the second process.  `held` is a descriptor that it keeps open until its end;
 * -1: none.  Call apply_maker_end() even after a failure. */
int apply_maker_start(struct apply_maker *m, const char *temporary, int held,
		      struct err *e);

/* Ends the second process, and removes the files of the jobs that were not dropped. */
void apply_maker_end(struct apply_maker *m);

/* Changes the folder; there must be no job.  Returns false if the second process cannot
 * be told now: then no job may be put. */
bool apply_maker_enter(struct apply_maker *m, int at);

bool apply_maker_is_full(const struct apply_maker *m);
bool apply_maker_is_empty(const struct apply_maker *m);

/* Returns the job to fill next; there must be room for it. */
struct apply_job *apply_maker_next(struct apply_maker *m);
void apply_maker_put(struct apply_maker *m);

/* Waits until the oldest job is done.  Fails if the second process has ended before it was
 * done with one. */
int apply_maker_wait(struct apply_maker *m, const struct apply_job **ret_job,
		     const char **ret_temporary, struct err *e);

/* Does the oldest job once more, which has failed: the files of the jobs behind it, which
 * take room on the disk before their turn, are removed first.  Those jobs have then failed,
 * too. */
int apply_maker_again(struct apply_maker *m, struct err *e);
void apply_maker_drop(struct apply_maker *m);

/* Returns the name of the temporary file of the jobs with that number, of which there is
 * one at a time; the number is less than APPLY_MAKER_JOBS. */
void apply_maker_name(struct apply_name *ret, const char *temporary, unsigned number);
