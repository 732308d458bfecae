/* dispatcher -- requests and answers for the actions of one sandbox.
 *
 * No descriptor is read or written here.  Input lines and the executor's frames
 * come in; frames for the executor go into one buffer, observations into
 * another.  The stream (stream.h) moves the bytes.
 *
 *	dispatcher.c		decodes lines, catches repeats, queues actions, answers
 *	dispatcher_attach.c	connects a dispatcher with a sandbox that was launched
 *	dispatcher_judge.c	decides by the policy's rules whether an action may be done
 *	dispatcher_start.c	starts queued actions, as frames for the executor
 *	dispatcher_env.c	variables, and which of them are secrets
 *	dispatcher_frame.c	turns the executor's frames into observations
 *	dispatcher_audit.c	records actions in the audit log (sandbox/launch/audit.h)
 *
 * The loop that owns a dispatcher sets its time when poll(2) has returned.  The time
 * is a member since most functions of a dispatcher are called back from tables and
 * queues.
 *
 * A session's shell is started when it is first needed, so a stream that only
 * reads and writes files starts none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/observe.h"
#include "actions/queue.h"
#include "actions/reply_queue.h"
#include "base/redact.h"
#include "base/variables.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "sandbox/explain/why.h"

struct audit;
struct cgroup;
struct err;
struct frame;
struct instance;
struct launch;
struct refused_call;
struct verdict;

/* No more lines are taken while this many tasks, or bytes of their lines, wait. */
#define DISPATCHER_TASKS 1024
#define DISPATCHER_BYTES (64u << 20)
/* The number of files read or written at a time; it is low because their content is
 * held in memory. */
#define DISPATCHER_FILES 4
/* The number of errands under way at a time. */
#define DISPATCHER_ERRANDS 8

/* Bounds of an observation's content in bytes.  The content for a file is base64 of
 * the largest file, or an editor's text and its diff; the content for a run is 30,000
 * characters and a notice. */
#define DISPATCHER_FILE_MAX (16u << 20)
#define DISPATCHER_RUN_MAX  (256u << 10)
#define DISPATCHER_WHOLE_MAX (4u << 20) /* bound for a hidden run, whose output is not
					 * cut */

/* The bound of one observation's line: JSON may write a byte as six, and a command
 * appears in the line up to three times. */
#define DISPATCHER_LINE_MAX (6 * DISPATCHER_FILE_MAX + 18 * ACTION_TEXT_MAX + (1u << 20))

/* Observations are put into `out` while at most DISPATCHER_OUT_HIGH bytes wait there;
 * DISPATCHER_OUT_MAX has room for one more of any length, and for some short lines. */
#define DISPATCHER_OUT_HIGH (4u << 20)
#define DISPATCHER_OUT_MAX  (DISPATCHER_OUT_HIGH + DISPATCHER_LINE_MAX + (8u << 20))

/* A command's output is held while a client that streams it has this much
 * unread, until no more than half of that is left. */
#define DISPATCHER_STREAM_HIGH (1u << 20)

/* A client: the process at stdin and stdout, or a connection of the control
 * socket. */
struct dispatcher_client {
	struct buffer *out; /* borrowed; observations for the client; holds
			     * DISPATCHER_OUT_MAX */
	const char *name;   /* borrowed; the name for actions that give no `client` */
	bool streams;	    /* the client gets commands' output as it comes */
	bool is_rpc;	    /* the client gets that output as notifications
			     * (docs/control.md) */
	bool confirms;	    /* the client can be asked whether an action may be done */

	struct reply_queue replies;
	size_t outstanding; /* number of the client's actions without an answer */
};

struct dispatcher {
	int64_t now_us;		  /* time of this step of the loop (clock.h) */
	/* The loop's function that sets now_us.  The dispatcher calls it after a step
	 * that may block, before it sets a deadline.  NULL: now_us stays. */
	void (*look_at_clock)(void *who);
	void *who;		  /* borrowed; passed to look_at_clock */
	struct buffer *wire;	  /* borrowed; frames for the executor */
	struct exec shell; /* borrows; how a session is opened, but for its argv */
	struct variables variables; /* variables set by env actions; pid 1 has them too */
	struct redact secrets; /* secrets to redact in all output */
	struct sandbox_info sandbox_info;
	struct why why;	     /* borrows; tells why the sandbox refused something; has
			      * no lookup */
	struct rules *rules; /* owned; NULL: every action may be done */
	uint32_t asks;	     /* number of the last question to a client */
	struct audit *audit; /* borrowed; NULL: there is no audit log */
	uint64_t records;    /* number of the last action in the log */
	const struct cgroup *cgroup; /* borrowed; counts OOM kills; NULL: none */
	uint64_t memory_limit, oom_kills; /* the memory limit in bytes; OOM kills
					   * counted at the last look */

	struct dedup *dedup; /* owned; finds repeated actions */
	struct queue queue;
	unsigned files, errands; /* number of files and errands under way */
	char *ended; /* owned: the answer to every action after the sandbox's end;
		      * NULL: the sandbox lives */
};

/* Returns the time of this step of the loop in ms. */
static inline int64_t dispatcher_now(const struct dispatcher *d)
{
	return d->now_us / 1000;
}

void dispatcher_init(struct dispatcher *d);
/* Returns the audit log to the secrets of the policy alone. */
void dispatcher_done(struct dispatcher *d);

/* Initialises the instance, and connects the dispatcher with it and with all that the
 * launch has for actions: rules, secrets, audit log, cgroup, the shell of a session.
 * The dispatcher is initialised and knows the time, and the instance has its callbacks.
 * All three keep their places until dispatcher_done(); the launch, too, borrows. */
void dispatcher_attach(struct dispatcher *d, struct launch *l, struct instance *g);

/* Called when a client has gone.  Its actions go on, and their answers are dropped.
 * No other client may have its name. */
void dispatcher_leave(struct dispatcher *d, struct dispatcher_client *c);

/* Counts the open questions to this client as answered with no, because the client can
 * answer no more.  Returns whether there was such a question. */
bool dispatcher_unask(struct dispatcher *d, const struct dispatcher_client *c);

/* Takes one line of input, without its newline. */
void dispatcher_line(struct dispatcher *d, struct dispatcher_client *c, const char *line,
		     size_t len);
/* Answers a line that was too long to be kept. */
void dispatcher_long_line(struct dispatcher *d, struct dispatcher_client *c);
/* Takes an action that came as a request of the control socket; `id`, a JSON value, is
 * taken over. */
void dispatcher_request(struct dispatcher *d, struct dispatcher_client *c, char *id,
			const char *line, size_t len);
/* Cancels the first action of this client with this id.  False: there is none. */
bool dispatcher_cancel(struct dispatcher *d, const struct dispatcher_client *c,
		       uint64_t id);

/* Takes a frame from the executor.  -1: the executor broke the protocol. */
int dispatcher_frame(struct dispatcher *d, const struct frame *f, struct err *e);

/* Tells the dispatcher of a system call that the filter refused (denials_take()).  The
 * call counts for the action that runs in `session`, a session id of setsid(2), and the
 * action's observation names it.  `is_alone`: only actions run, so a call
 * from another session counts for the only action, if there is just one. */
void dispatcher_refused(struct dispatcher *d, const struct refused_call *c, pid_t session,
		  bool is_alone);

/* Writes the tasks that can start now to the wire, as far as they fit; false: none
 * did.  To be called after the other functions, and again when the wire has been
 * flushed. */
bool dispatcher_start(struct dispatcher *d);

/* Redacts the value in all output from now on.  *ret_is_hidden: whether the
 * value is long enough for that.  -1: there is no room for it. */
int dispatcher_hide(struct dispatcher *d, const char *value, bool *ret_is_hidden,
		    struct err *e);

/* Moves finished observations into the client's `out`, as far as it has room. */
void dispatcher_deliver(struct dispatcher_client *c);

/* Returns when the executor's next answer is due, in ms of clock.h; 0: none is.  The
 * executor keeps time-outs of its own, which are a good deal shorter, so a late answer
 * means that it is stuck. */
int64_t dispatcher_deadline(const struct dispatcher *d);
/* Does the same as dispatcher_deadline(), for a loop that does not read from the
 * executor while this client is behind, and last did not read at `away_ms`: no answer
 * is due meanwhile, nor in the grace after it. */
int64_t dispatcher_deadline_of(const struct dispatcher *d,
			       const struct dispatcher_client *c, int64_t away_ms);
/* Returns when the time-out of a git action that waits for its shell ends, in ms of
 * clock.h; 0: no such action waits.  The time-out runs while the shell starts, since
 * the inside can stop that shell.  dispatcher_expire() then answers the action; `now`
 * is the time of this step. */
int64_t dispatcher_due(const struct dispatcher *d);
void dispatcher_expire(struct dispatcher *d, int64_t now);
/* Moves each deadline by `ms`, the time for which the sandbox was paused. */
void dispatcher_postpone(struct dispatcher *d, int64_t ms);

/* Called when the sandbox has ended: answers every outstanding action, and each action
 * that still comes, with `why`. */
void dispatcher_end(struct dispatcher *d, const char *why);

/* Returns whether all actions of the client have been answered; its `out` may still
 * hold answers. */
bool dispatcher_is_idle(const struct dispatcher_client *c);
/* Returns whether too much is outstanding for another line to be read. */
bool dispatcher_is_full(const struct dispatcher *d);
/* Returns whether the client has too much unread for another of its lines to be taken. */
bool dispatcher_is_behind(const struct dispatcher_client *c);

/* --- between the parts of the dispatcher ----------------------------------------- */

/* How long after its time-out the answer to an action is still waited for, in ms. */
#define DISPATCHER_GRACE_MS 10000

/* The program that a session runs. */
#define DISPATCHER_SHELL "/bin/bash"

/* The answer when no session can be had for an action. */
#define DISPATCHER_NO_PLACE                                                                 \
	"ERROR: more than 64 sessions: so many are there, each for as long as the sandbox " \
	"lives; name one of these, without is_static"

/* Tells a client how many bytes of the command's output it was not sent, if any. */
void dispatcher_tell_dropped(struct asker *to, const struct action *a);

/* Writes the first part of the names of a session's logs: the session's name, cut to
 * fit, with '_' for every byte but letters, digits and '-'. */
#define DISPATCHER_LABEL_MAX 33
void dispatcher_label(const struct session *s, char ret[DISPATCHER_LABEL_MAX]);
/* Returns the directory in which the session's shell begins; allocated. */
char *dispatcher_cwd(const struct dispatcher *d, const struct session *s);

/* Ends a session that was made for one action, if that action is done. */
void dispatcher_close(struct dispatcher *d, struct session *s);

/* Returns the facts about a task that its observation needs. */
struct observed dispatcher_observed(const struct dispatcher *d, const struct task *t);

/* Decides whether a task may be done.  GO: the task may be done.  WAITS: a client has
 * been asked, or cannot be asked now.  DONE: the task was refused, and has its answer. */
enum judged { JUDGED_GO, JUDGED_WAITS, JUDGED_DONE };
enum judged dispatcher_judge(struct dispatcher *d, struct task *t);
/* Takes the client's answer to a question.  False: this client has no such open
 * question. */
bool dispatcher_confirm(struct dispatcher *d, const struct dispatcher_client *c,
			const struct action *a);

/* Records a task before it is done.  -1: the record could not be written; the
 * task is not done, and has its answer. */
int dispatcher_record(struct dispatcher *d, struct task *t);
void dispatcher_record_denial(struct dispatcher *d, const struct task *t,
			      const struct verdict *v);
/* Records a task's result, if the task itself is on record.  The result is
 * noted by the two functions below, or is an error's id, HUTCH$... */
void dispatcher_record_result(struct dispatcher *d, const struct task *t);
void dispatcher_note_report(struct task *t, const struct report *r);
void dispatcher_note_outcome(struct task *t, uint32_t outcome);

/* Performs an ACT_ENV, the change of variables, at once. */
void dispatcher_set_env(struct dispatcher *d, struct task *t);
/* Sends the bytes of a streamed task that were held as the possible start of a
 * secret. */
void dispatcher_flush_output(struct dispatcher *d, struct task *t);

/* Ends a task: sends its one observation, whose bytes are taken over, to every
 * client that asked for it, and frees the task. */
void dispatcher_finish(struct dispatcher *d, struct task *t, struct buffer *line);
/* Ends an errand whose time-out passed before the errand was sent. */
void dispatcher_finish_late(struct dispatcher *d, struct task *t);
void dispatcher_finish_error(struct dispatcher *d, struct task *t, const char *error_id,
		       const char *text);
