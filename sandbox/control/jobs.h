/* jobs -- the processes that clients start, from the request to the end.
 *
 *	state		leaves it when
 *	NAMED		the channel is free				-> LOOKED_UP
 *	LOOKED_UP	"returned" came, with who its user is		-> WAITING
 *			and else					forgotten
 *	WAITING		the channel has room for its descriptors	-> ASKED
 *	ASKED		"started" came					-> RUNNING
 *			"failed" came					forgotten
 *	RUNNING		"exited" came					-> ENDED
 *	ENDED		JOBS_REMEMBERED others have ended since		forgotten
 *
 * A job is one client's.  When that goes, so does the job, unless it is detached:
 * SIGHUP, and a while later it is ended with its tree, as one is that is late.  Who
 * waits for its end may be anybody.
 *
 * One whose user is to be looked up inside begins as NAMED, others as WAITING.  While it
 * is LOOKED_UP its id is that of the errand which does it.
 *
 * While the sandbox is paused nothing is sent that starts one, and no time passes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/message.h"
#include "sandbox/control/wire.h"

struct capture;
struct client;
struct err;
struct frame;
struct guest;
struct returned;

#define JOBS_MAX	512
#define JOBS_REMEMBERED 256

enum job_state { JOB_NAMED, JOB_LOOKED_UP, JOB_WAITING, JOB_ASKED, JOB_RUNNING, JOB_ENDED };

struct job {
	uint32_t id; /* on the wire, and for clients */
	enum job_state state;
	struct client *owner; /* borrowed; NULL: it has gone */
	char *request;	      /* owned: the id of its exec.start, until that is answered */
	bool is_detached, has_terminal, has_timed_out;
	bool was_stopped; /* the sandbox was, when it ended */
	bool is_recorded; /* it is in the audit log, and so is to be its end */
	struct exec exec; /* borrows from the lists and `cwd` */
	struct list argv, env;
	char *cwd; /* owned */
	char *user; /* owned: USER[:GROUP], to be looked up; NULL: exec has the numbers */
	struct buffer found; /* what the errand told; no more than ERRAND_ACCOUNT_MAX */
	unsigned said; /* of the variables of an account, those that are set to other values */
	struct wire_fds fds;
	struct capture *capture; /* owned; NULL: its descriptors are its client's */
	bool owes_event;	 /* its owner has still to be told of its end, which is */
	uint64_t exit_event;	 /* this event */
	uint32_t pid; /* inside */
	int64_t begun_ms; /* since 1970 */
	uint64_t timeout_ms; /* 0: none */
	int64_t deadline_ms, kill_ms; /* clock.h; 0: none */
	struct exited exited;
	struct job *next;
};

/* Somebody who waits for the end of one. */
struct waiter {
	struct client *client;
	char *request; /* owned */
	uint32_t job;
	bool is_held; /* it has ended, but see may_tell */
	struct waiter *next;
};

struct jobs {
	struct guest *guest;	  /* borrowed */
	struct job *first, *last; /* owned; in the order of the requests */
	struct waiter *waiters;	  /* owned */
	struct job *passing;	  /* whose descriptors are on their way */
	size_t alive, ended;
	bool is_closed;	   /* nothing is to be started any more */
	int64_t paused_ms; /* since then, in ms of clock.h; 0: it is not paused */
	size_t held, owed; /* waiters whose job has ended; jobs that owe an event */
	void *who; /* borrowed; for these */
	void (*on_started)(void *who, struct job *j);
	void (*on_failed)(void *who, struct job *j, const struct failed *failed);
	/* Fills in who its user is.  False: it is not started, and its client has been told. */
	bool (*on_looked_up)(void *who, struct job *j, const struct returned *x);
	void (*on_ended)(void *who, struct job *j);
	void (*on_waited)(void *who, const struct waiter *w, const struct job *j);
	/* These two may be NULL.  Whether the client may be told of the end yet; if not,
	 * jobs_tell() is called. */
	bool (*may_tell)(void *who, const struct client *c, const struct job *j);
	/* Nobody may refer to it any more, and nobody may be held up by it. */
	void (*on_gone)(void *who, struct job *j);
};

void jobs_done(struct jobs *js);

/* Takes the job over, which is complete but for its state. */
int jobs_add(struct jobs *js, struct job *j, struct err *e);
void job_free(struct job *j);

struct job *jobs_find(struct jobs *js, uint32_t id);

/* Sends what can be sent now. */
void jobs_send(struct jobs *js, int64_t now);

/* A frame about a process.  1: it was; 0: it is about something else; -1: it breaks
 * the protocol. */
int jobs_frame(struct jobs *js, const struct frame *f, struct err *e);

/* on_waited() is called when it has ended; at once if it has.  -1: no such job. */
int jobs_wait(struct jobs *js, uint32_t id, struct client *c, char *request, struct err *e);

/* Tells a client that waits of the ends that it may be told of by now.  True: there
 * was one. */
bool jobs_tell(struct jobs *js, const struct client *c);

/* Nobody waits for this client any more; what is not detached is ended. */
void jobs_leave(struct jobs *js, const struct client *c, int64_t now);

/* When jobs_expire() has something to do; 0: never, or not in a pause. */
int64_t jobs_due(const struct jobs *js);
void jobs_expire(struct jobs *js, int64_t now);

void jobs_pause(struct jobs *js, int64_t now);
/* What was due is due later by as long as the pause was. */
void jobs_resume(struct jobs *js, int64_t now);
