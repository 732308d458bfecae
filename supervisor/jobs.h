/* jobs -- the processes that clients start, from the request to the end.
 *
 *	state		leaves it when
 *	NAMED		the channel is free				  -> LOOKED_UP
 *	LOOKED_UP	"returned" came, with the user's ids		  -> WAITING
 *			"returned" came without			     forgotten
 *	WAITING		the channel has room for its descriptors	  -> ASKED
 *	ASKED		"started" came					  -> RUNNING
 *			"failed" came					     forgotten
 *	RUNNING		"exited" came					  -> ENDED
 *	ENDED		JOBS_REMEMBERED others have ended since		     forgotten
 *
 * A job belongs to one client.  When that client goes, the job gets SIGHUP,
 * unless it is detached, and a while later it is ended with its whole tree, as
 * is a job that is past its time-out.  Any client may wait for a job's end.
 *
 * A job whose user is to be looked up inside begins as NAMED, others as
 * WAITING.  While a job is LOOKED_UP its id is also that of the errand that
 * looks the user up.
 *
 * While the sandbox is paused no request that starts a job is sent, and no time
 * passes. */
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
	uint32_t id; /* the job's id on the wire, and for clients */
	enum job_state state;
	struct client *owner; /* borrowed; the client that started the job; NULL: it
			       * has gone */
	char *request; /* owned: the id of its exec.start, until that is answered */
	bool is_detached, has_terminal, has_timed_out;
	bool was_stopped; /* the sandbox was being stopped when the job ended */
	bool is_recorded; /* its start is in the audit log, and its end is to be */
	struct exec exec; /* the request to the executor; borrows from the lists and
			   * `cwd` */
	struct list argv, env;
	char *cwd; /* owned; the directory in which the process starts */
	char *user; /* owned: USER[:GROUP], to be looked up; NULL: exec has the numbers */
	struct buffer found; /* the result of the look-up; at most ERRAND_ACCOUNT_MAX
			      * bytes */
	unsigned said; /* which variables of an account were set to other values */
	struct connection_fds fds;
	struct capture *capture; /* owned; NULL: the client passed the descriptors */
	bool owes_event;	 /* the owner has still to be told of the job's end */
	uint64_t exit_event;	 /* number of the event that tells the job's end */
	uint32_t pid; /* the process's pid inside */
	int64_t begun_ms; /* when the job was begun, in ms since 1970 */
	uint64_t timeout_ms; /* the job's time-out; 0: none */
	int64_t deadline_ms, kill_ms; /* when the job is ended, and killed: clock.h; 0:
				       * never */
	struct exited exited;
	struct job *next;
};

/* A client's request that waits for the end of a job. */
struct waiter {
	struct client *client;
	char *request; /* owned; the id of the request that waits */
	uint32_t job;
	bool is_held; /* the job has ended, but the client may not be told yet
		       * (may_tell) */
	struct waiter *next;
};

struct jobs {
	struct instance *instance;	  /* borrowed; the running sandbox */
	struct job *first, *last; /* owned; in the order of the requests */
	struct waiter *waiters;	  /* owned; the requests that wait for a job's end */
	struct job *passing;	  /* the job whose descriptors are on their way */
	size_t alive, ended;
	bool is_closed;	   /* no job is to be started any more */
	int64_t paused_ms; /* the sandbox is paused since then, in ms of clock.h; 0:
			    * not paused */
	size_t held, owed; /* number of waiters whose job has ended; of jobs that owe
			    * an event */
	void *who; /* borrowed; passed to the functions below */
	void (*on_started)(void *who, struct job *j);
	void (*on_failed)(void *who, struct job *j, const struct failed *failed);
	/* Called when a user was looked up: fills in the user's ids.  False: the job
	 * is not started, and its client has been told. */
	bool (*on_looked_up)(void *who, struct job *j, const struct returned *x);
	void (*on_ended)(void *who, struct job *j);
	void (*on_waited)(void *who, const struct waiter *w, const struct job *j);
	/* may_tell and on_gone may be NULL.  may_tell returns whether the client may
	 * be told of the end yet; if not, jobs_tell() is called later. */
	bool (*may_tell)(void *who, const struct client *c, const struct job *j);
	/* Called when the job is about to be freed: no reference to it may stay, and
	 * no waiter may be held back. */
	void (*on_gone)(void *who, struct job *j);
};

void jobs_done(struct jobs *js);

/* Adds a job, which is complete but for its state, and takes it over. */
int jobs_add(struct jobs *js, struct job *j, struct err *e);
void job_free(struct job *j);

struct job *jobs_find(struct jobs *js, uint32_t id);

/* Sends the requests to start a job that can be sent now. */
void jobs_send(struct jobs *js, int64_t now);

/* Takes a frame about a process.  1: the frame was about a process; 0: it is about
 * something else; -1: it breaks the protocol. */
int jobs_frame(struct jobs *js, const struct frame *f, struct err *e);

/* Waits for a job: on_waited() is called when the job has ended; at once if it has
 * already.  -1: there is no such job. */
int jobs_wait(struct jobs *js, uint32_t id, struct client *c, char *request,
	      struct err *e);

/* Answers the waits of a client that may be answered by now.  True: at least one was
 * answered. */
bool jobs_tell(struct jobs *js, const struct client *c);

/* Called when the client has gone: drops its waits and ends its jobs that are not
 * detached. */
void jobs_leave(struct jobs *js, const struct client *c, int64_t now);

/* Returns when jobs_expire() has something to do; 0: never, or the sandbox is paused. */
int64_t jobs_due(const struct jobs *js);
void jobs_expire(struct jobs *js, int64_t now);

void jobs_pause(struct jobs *js, int64_t now);
/* Called when a pause ends: moves every deadline by the length of the pause. */
void jobs_resume(struct jobs *js, int64_t now);
