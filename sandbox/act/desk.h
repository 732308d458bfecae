/* desk -- what is asked for, and what is answered, for the actions of a sandbox.
 *
 * No descriptor is read or written here: lines go in, frames for the executor go
 * into one buffer and observations into another, frames come in, and the stream
 * (stream.h) moves the bytes.
 *
 *	desk.c		lines: decoded, done once, put into the queue, answered
 *	desk_judge.c	whether an action may be done, by the policy's rules
 *	desk_start.c	what of the queue can start, as frames for the executor
 *	desk_env.c	variables, and which of them are secrets
 *	desk_frame.c	the executor's frames, and what is observed of them
 *	desk_audit.c	what is put on record of them (sandbox/audit.h)
 *
 * The loop that has a desk sets its time when poll(2) has returned, and hands it down so:
 * most of a desk is called back from tables and queues.
 *
 * A session's shell is started when it is first needed, so that a stream that only
 * reads and writes files has none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/action.h"
#include "base/mask.h"
#include "base/variables.h"
#include "sandbox/act/observe.h"
#include "sandbox/act/outbox.h"
#include "sandbox/act/queue.h"
#include "sandbox/why.h"

struct audit;
struct cgroup;
struct err;
struct exec;
struct frame;
struct refused_call;
struct verdict;

/* No more lines are taken when this much is waiting. */
#define DESK_TASKS 1024
#define DESK_BYTES (64u << 20)
/* So many files are read and written at a time: their content is held here. */
#define DESK_FILES 4
/* So many errands are under way at a time. */
#define DESK_ERRANDS 8

/* Content: base64 of the largest file, or what an editor says and its diff, and then
 * some; 30,000 characters and a notice. */
#define DESK_FILE_MAX (16u << 20)
#define DESK_RUN_MAX  (256u << 10)
#define DESK_WHOLE_MAX (4u << 20) /* where it is not cut to these */

/* Room for one observation: every byte can become six, and a command stands in it
 * up to three times. */
#define DESK_LINE_MAX (6 * DESK_FILE_MAX + 18 * ACTION_TEXT_MAX + (1u << 20))

/* Observations are put into `out` while no more than DESK_OUT_HIGH waits there, and
 * one fits on top of it, with some of what is short. */
#define DESK_OUT_HIGH (4u << 20)
#define DESK_OUT_MAX  (DESK_OUT_HIGH + DESK_LINE_MAX + (8u << 20))

/* What prints waits for a client that has so much of it before it, until no more than
 * half of that is left. */
#define DESK_STREAM_HIGH (1u << 20)

/* Somebody who asks: stdin and stdout, or a connection of the control socket. */
struct desk_client {
	struct buffer *out; /* borrowed; holds DESK_OUT_MAX */
	const char *name;   /* borrowed: of whose actions those are that name no client */
	bool streams;	    /* wants to see what commands print, as it comes */
	bool is_rpc;	    /* gets it as notifications (docs/control.md) */
	bool confirms;	    /* can be asked whether an action may be done */

	struct outbox outbox;
	size_t outstanding; /* actions without an answer */
};

struct desk {
	int64_t now_us;		  /* of this step of the loop, by clock.h */
	/* The loop's: sets now_us.  It is called behind a step that may block, before a
	 * deadline is set.  NULL: now_us stays. */
	void (*look_at_clock)(void *who);
	void *who;		  /* borrowed */
	struct buffer *wire;	  /* borrowed */
	const struct exec *shell; /* borrowed; how a session is opened */
	struct variables variables; /* those of env actions; pid 1 has them too */
	struct mask mask; /* what nobody is told */
	struct setting setting;
	struct why why;	     /* borrows; without a lookup */
	struct rules *rules; /* owned; NULL: everything may be done */
	uint32_t asks;	     /* the number of the last */
	struct audit *audit; /* borrowed; NULL: nothing is put on record */
	uint64_t records;    /* the number of the last action there */
	const struct cgroup *cgroup; /* borrowed; tells of an OOM.  NULL: none */
	uint64_t memory_limit, oom_kills; /* bytes; as last seen */

	struct answers *answers; /* owned */
	struct queue queue;
	unsigned files, errands; /* under way */
	char *ended; /* owned: what is said of all that comes; NULL: it goes on */
};

/* The time of this step in ms. */
static inline int64_t desk_now(const struct desk *d)
{
	return d->now_us / 1000;
}

void desk_init(struct desk *d);
void desk_done(struct desk *d);

/* A client has gone: what it asked for goes on, and is answered to nobody.  No other
 * has its name. */
void desk_leave(struct desk *d, struct desk_client *c);

/* What it was asked it will not answer: that is a no.  Whether it was asked something. */
bool desk_unask(struct desk *d, const struct desk_client *c);

/* One line of input, without its newline. */
void desk_line(struct desk *d, struct desk_client *c, const char *line, size_t len);
/* A line that was too long to be kept. */
void desk_long_line(struct desk *d, struct desk_client *c);
/* An action that came as a request with this id, a JSON value that is taken over. */
void desk_request(struct desk *d, struct desk_client *c, char *id, const char *line,
		  size_t len);
/* Ends the first action of this client with this id.  False: there is none. */
bool desk_cancel(struct desk *d, const struct desk_client *c, uint64_t id);

/* What the executor said.  -1: it broke the protocol. */
int desk_frame(struct desk *d, const struct frame *f, struct err *e);

/* A system call was refused, in this session of the inside's (refusals_take()): it is
 * told with the action that made it.  `is_alone`: nothing but actions is under way. */
void desk_refused(struct desk *d, const struct refused_call *c, pid_t session,
		  bool is_alone);

/* Puts on the wire what can start now and fits; false when nothing did.  To be
 * called after the others, and again when the wire has been written. */
bool desk_start(struct desk *d);

/* The value is hidden in all that is told from now on.  *ret_is_hidden: whether it is
 * long enough.  -1: there is no room for it. */
int desk_hide(struct desk *d, const char *value, bool *ret_is_hidden, struct err *e);

/* Moves observations that are done into `out`, as far as it has room. */
void desk_deliver(struct desk_client *c);

/* When the next answer of the executor is due, in ms of clock.h; 0: none is.  It keeps
 * its own time-outs, and these are a good deal longer. */
int64_t desk_deadline(const struct desk *d);
/* desk_deadline() for a loop that does not read from the executor while this client is behind,
 * and last did not at `away_ms`: no answer is due meanwhile, nor in the grace after it. */
int64_t desk_deadline_of(const struct desk *d, const struct desk_client *c, int64_t away_ms);
/* When an action of git that waits for its shell is late, in ms of clock.h; 0: none does.  Its
 * time-out goes on meanwhile: the inside can stop a shell that is being started.  Then
 * desk_expire() answers it; `now` is this step's. */
int64_t desk_due(const struct desk *d);
void desk_expire(struct desk *d, int64_t now);
/* Puts each deadline off by `ms`, for which the sandbox stood still. */
void desk_postpone(struct desk *d, int64_t ms);

/* The sandbox is gone: every action outstanding is told so, and whatever is still asked for. */
void desk_end(struct desk *d, const char *why);

/* Nothing is outstanding for it; `out` may still hold something. */
bool desk_is_idle(const struct desk_client *c);
/* Too much is outstanding for another line. */
bool desk_is_full(const struct desk *d);
/* It has not taken away too much for another line of it. */
bool desk_is_behind(const struct desk_client *c);

/* --- between the parts of the desk ----------------------------------------- */

/* How much longer than it may take anything is waited for, in ms. */
#define DESK_GRACE_MS 10000

/* No session can be had for an action. */
#define DESK_NO_PLACE                                                                   \
	"ERROR: more than 64 sessions: so many are there, each for as long as the sandbox " \
	"lives; name one of these, without is_static"

/* Says how much of the output it was not told, if any. */
void desk_tell_dropped(struct asker *to, const struct action *a);

/* What the names of a session's logs begin with: its own name, of which only letters,
 * digits, '-' and '_' and no more than fit stay. */
#define DESK_LABEL_MAX 33
void desk_label(const struct session *s, char ret[DESK_LABEL_MAX]);
/* Where the shell of a session begins; allocated. */
char *desk_cwd(const struct desk *d, const struct session *s);

/* Ends a session that was for one action, if that is done. */
void desk_close(struct desk *d, struct session *s);

/* What is known of the task, for its observation. */
struct observed desk_observed(const struct desk *d, const struct task *t);

/* Whether it may be done: it may; somebody has been asked, or cannot be now; it may not,
 * and has its answer. */
enum judged { JUDGED_GO, JUDGED_WAITS, JUDGED_DONE };
enum judged desk_judge(struct desk *d, struct task *t);
/* The answer of somebody who was asked.  False: that was not asked of him. */
bool desk_confirm(struct desk *d, const struct desk_client *c, const struct action *a);

/* Before it is done: it is on record.  -1: it could not be; it is not done, and has its
 * answer. */
int desk_record(struct desk *d, struct task *t);
void desk_record_refusal(struct desk *d, const struct task *t, const struct verdict *v);
/* What came of it, as far as it is on record; from these, or HUTCH$... */
void desk_record_result(struct desk *d, const struct task *t);
void desk_note_report(struct task *t, const struct report *r);
void desk_note_outcome(struct task *t, uint32_t outcome);

/* ACT_ENV, which is done at once. */
void desk_set_env(struct desk *d, struct task *t);
/* What is streamed of a session: hands on what was held of a secret that it may be. */
void desk_flush_output(struct desk *d, struct task *t);

/* The end of a task: its one observation, whose bytes are taken over, to everybody
 * who asked for it.  The task is gone. */
void desk_finish(struct desk *d, struct task *t, struct buffer *line);
/* The same of an errand that was not sent before its time was over. */
void desk_finish_late(struct desk *d, struct task *t);
void desk_finish_error(struct desk *d, struct task *t, const char *error_id,
		       const char *text);
