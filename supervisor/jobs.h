/* jobs -- the processes that clients start, from the request to the process's end.
 *
 * 	state		is left when
 * 	NAMED		the channel is free				  -> LOOKED_UP
 * 	LOOKED_UP	"returned" came, with the user's ids		  -> WAITING
 * 			"returned" came without ids			     removed
 * 	WAITING		the channel can take its descriptors		  -> ASKED
 * 	ASKED		"started" came					  -> RUNNING
 * 			"failed" came					     removed
 * 	RUNNING		"exited" came					  -> ENDED
 * 	ENDED		JOBS_REMEMBERED others have ended since		     removed
 *
 * The words in quotes are messages of the executor.  A job belongs to the client that
 * started it.  When that client disconnects, a job that is not detached gets SIGHUP
 * and, after GRACE_MS, is killed with all its descendants.  So is a job at its
 * time-out, without SIGHUP.  Any client may wait for a job's end.
 *
 * A job begins as NAMED if its user must be looked up in the sandbox's files, otherwise
 * as WAITING.  The errand that looks up the user has the same id as the job.
 *
 * While the sandbox is paused no job is started, and the time limits of jobs do not
 * run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "protocol/message.h"
#include "supervisor/connection.h"

struct capture;
struct client;
struct err;
struct frame;
struct instance;
struct returned;

#define JOBS_MAX	512
#define JOBS_REMEMBERED 256

enum job_state {
	JOB_NAMED,
	JOB_LOOKED_UP,
	JOB_WAITING,
	JOB_ASKED,
	JOB_RUNNING,
	JOB_ENDED
};

struct job {
	uint32_t id; /* the job's id in messages to the executor and to clients */
	struct job *next, *next_busy; /* beside the id: a search reads one cache line of
				       * each job */
	enum job_state state;
	struct client *owner; /* borrowed; the client that started the job; NULL: it has
			       * disconnected */
	char *request; /* owned: the id of the exec.start request, until that is
			* answered */
	bool is_detached, has_terminal, has_timed_out;
	bool was_stopped; /* the sandbox was being stopped when the job ended */
	bool is_recorded; /* the job's start was written to the audit log, so its end
			   * must be too */
	struct exec exec; /* the request to the executor; points into `argv`, `env` and
			   * `cwd` */
	struct list argv, env;
	char *cwd; /* owned; the directory in which the process starts */
	char *user; /* owned: USER[:GROUP], to be looked up; NULL: `exec` has the ids
		     * already */
	struct buffer found; /* the result of the look-up; at most ERRAND_ACCOUNT_MAX
			      * bytes */
	unsigned said; /* bits of the variables of an account (HOME, ...) that have
			* values already */
	struct connection_fds fds;
	struct capture *capture; /* owned; NULL: the client has passed descriptors
				  * instead */
	bool owes_event;	 /* the owner must still be sent the event of the job's
				  * end */
	uint64_t exit_event;	 /* number of the event of the job's end */
	uint32_t pid; /* the process's pid inside */
	int64_t begun_ms; /* when the job was begun, in ms since 1970 */
	uint64_t timeout_ms; /* the job's time-out; 0: none */
	int64_t deadline_ms, kill_ms; /* deadline_ms: the end of the time-out; kill_ms:
				       * when a job that got SIGHUP is killed; clock.h;
				       * 0: never */
	struct exited exited;
};

/* A client's request that waits for the end of a job. */
struct waiter {
	struct client *client;
	char *request; /* owned; the id of the request that waits */
	uint32_t job;
	bool is_held; /* the job has ended, but may_tell() does not allow the answer
		       * yet */
	struct waiter *next;
};

struct jobs {
	struct instance *instance;	  /* borrowed; the running sandbox */
	struct job *first, *last; /* owned; in the order of the requests */
	struct job *busy, *last_busy; /* those of them that jobs_rest() has not taken out,
				       * in the same order */
	uint32_t highest;	      /* the highest id that a job ever had */
	struct waiter *waiters;	  /* owned; the requests that wait for a job's end */
	struct job *passing;	  /* the job whose descriptors are being sent */
	size_t alive, ended;
	bool is_closed;	   /* no more jobs may be started */
	int64_t paused_ms; /* when the sandbox was paused, in ms of clock.h; 0: it is
			    * not paused */
	size_t held, owed; /* held: number of waiters with is_held; owed: number of jobs
			    * with owes_event */
	void *context;	   /* borrowed; the first argument of the callbacks below */
	void (*on_started)(void *context, struct job *j);
	void (*on_failed)(void *context, struct job *j, const struct failed *failed);
	/* Called when a user was looked up: fills in the user's ids.  False: the job is
	 * not started, and the client has been told why. */
	bool (*on_looked_up)(void *context, struct job *j, const struct returned *x);
	void (*on_ended)(void *context, struct job *j);
	void (*on_waited)(void *context, const struct waiter *w, const struct job *j);
	/* may_tell and on_gone may be NULL.  may_tell returns whether the client may be
	 * told of a job's end now; if not, jobs_tell() must be called later. */
	bool (*may_tell)(void *context, const struct client *c, const struct job *j);
	/* Called before a job is freed: removes all references to it.  After that,
	 * may_tell must not hold back a waiter of this job. */
	void (*on_gone)(void *context, struct job *j);
};

void jobs_done(struct jobs *js);

/* Adds a job and takes it over.  The caller has filled in all fields but `state`. */
int jobs_add(struct jobs *js, struct job *j, struct err *e);
void job_free(struct job *j);

struct job *jobs_find(const struct jobs *js, uint32_t id);

/* Takes a job out of the busy ones.  The job has ended, its output is read, and its
 * owner knows of its end: a turn of the loop need not look at it any more.  It stays
 * among those that are remembered, without an owner. */
void jobs_rest(struct jobs *js, struct job *j);

/* Sends the requests to start jobs, as far as the channel takes them. */
void jobs_send(struct jobs *js, int64_t now);

/* Handles a message of the executor.  1: it was about a process; 0: it is about
 * something else; -1: it breaks the protocol. */
int jobs_frame(struct jobs *js, const struct frame *f, struct err *e);

/* Waits for a job's end: on_waited() is called when the job has ended, or at once if it
 * already has.  -1: there is no such job. */
int jobs_wait(struct jobs *js, uint32_t id, struct client *c, char *request,
	      struct err *e);

/* Answers those waits of a client that may_tell() has held back and now allows.  True:
 * at least one was answered. */
bool jobs_tell(struct jobs *js, const struct client *c);

/* Called when a client has disconnected: drops its waits, and begins to end those of
 * its jobs that are not detached. */
void jobs_leave(struct jobs *js, const struct client *c, int64_t now);

/* Returns when jobs_expire() must be called; 0: never, or not while the sandbox is
 * paused. */
int64_t jobs_due(const struct jobs *js);
void jobs_expire(struct jobs *js, int64_t now);

void jobs_pause(struct jobs *js, int64_t now);
/* Called when a pause ends: moves every deadline by the length of the pause. */
void jobs_resume(struct jobs *js, int64_t now);
