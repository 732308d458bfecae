/* dispatcher -- takes the actions of agents for one sandbox, and gives the answers.
 *
 * No descriptor is read or written here. Input lines and the executor's frames come in;
 * frames for the executor go into one buffer, observations (answers to actions) into
 * another. The stream (stream.h) moves the bytes.
 *
 *	dispatcher.c		decodes lines, catches repeats, queues actions, answers
 *	dispatcher_attach.c	connects a dispatcher with a sandbox that was launched
 *	dispatcher_judge.c	decides by the policy's rules whether an action may be done
 *	dispatcher_start.c	starts queued actions, as frames for the executor
 *	dispatcher_env.c	variables, and which of them are secrets
 *	dispatcher_frame.c	turns the executor's frames into observations
 *	dispatcher_plugin.c	plugins, and the actions that they answer
 *	dispatcher_audit.c	records actions in the audit log (sandbox/launch/audit.h)
 *
 * The event loop that owns a dispatcher sets now_us when poll(2) has returned. The time
 * is a member since most functions of a dispatcher are called back from tables and
 * queues, which pass no time.
 *
 * A session's shell is started when it is first needed, so a client that only reads and
 * writes files starts none. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/observe.h"
#include "actions/plugin_table.h"
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
struct refused_host;
struct verdict;

/* No more lines are read while so many tasks are in the queue, or so many bytes of their
 * lines. */
#define DISPATCHER_TASKS 1024
#define DISPATCHER_BYTES (64u << 20)
/* The most files that are read or written at a time; it is low because their content is
 * held in memory. */
#define DISPATCHER_FILES 4
/* The most errands (protocol/action.h) that run at a time. */
#define DISPATCHER_ERRANDS 8

/* The most bytes of an observation's content. For a file it is base64 of the largest
 * file, or an editor's text and its diff; for a command it is 30,000 characters and a
 * notice. */
#define DISPATCHER_FILE_MAX (16u << 20)
#define DISPATCHER_RUN_MAX  (256u << 10)
#define DISPATCHER_WHOLE_MAX (4u << 20) /* the same for a command with `hidden`, whose
					 * output is not cut */

/* The most bytes of an observation's line: JSON may write a byte as six, and a command
 * appears in the line up to three times. */
#define DISPATCHER_LINE_MAX (6 * DISPATCHER_FILE_MAX + 18 * ACTION_TEXT_MAX + (1u << 20))

/* Observations are moved to a client's `out` only while at most DISPATCHER_OUT_HIGH
 * bytes wait there; its limit, DISPATCHER_OUT_MAX, leaves room for one more of any
 * length, and some short lines. */
#define DISPATCHER_OUT_HIGH (4u << 20)
#define DISPATCHER_OUT_MAX  (DISPATCHER_OUT_HIGH + DISPATCHER_LINE_MAX + (8u << 20))

/* While a client that streams a command's output has so many unread bytes, the output is
 * held; when half of them are read, it goes on. */
#define DISPATCHER_STREAM_HIGH (1u << 20)

/* A client: the process at stdin and stdout, or a connection of the control
 * socket. */
struct dispatcher_client {
	struct buffer *out; /* borrowed; the bytes for the client; its limit is
			     * DISPATCHER_OUT_MAX */
	const char *name;   /* borrowed; the client's name in actions that have no
			     * `client` */
	bool streams;	    /* the client gets a command's output while the command
			     * runs */
	bool is_rpc;	    /* the client gets such output as JSON-RPC notifications
			     * (docs/control.md) */
	bool confirms;	    /* the client can be asked to confirm an action */

	struct reply_queue replies;
	size_t outstanding; /* how many of the client's actions are not answered yet */
};

struct dispatcher {
	int64_t now_us;		  /* the current time, read once in each turn of the
				   * event loop (clock.h) */
	/* The event loop's function that sets now_us. The dispatcher calls it after a
	 * step that may block, before it computes a deadline. NULL: now_us stays as it
	 * is. */
	void (*look_at_clock)(void *context);
	/* Called when a plugin's process has another state.  NULL: nothing is called. */
	void (*tell_plugin)(void *context, const struct known_plugin *p);
	void *context;		  /* borrowed; passed to these two functions */
	struct buffer *wire;	  /* borrowed; frames for the executor */
	struct exec shell; /* borrows; the request that starts a session's shell, without
			    * argv */
	struct variables variables; /* variables that env actions have set; the executor
				     * has them too */
	struct redact secrets; /* the secrets that are redacted in all output */
	struct sandbox_info sandbox_info;
	struct why why;	     /* borrows; finds the reason why the sandbox refused
			      * something; why.lookup is NULL */
	struct plugin_table plugins;
	struct rules *rules; /* owned; the policy's rules; NULL: every action may be
			      * done */
	uint32_t asks;	     /* the number of the last question to a client */
	struct audit *audit; /* borrowed; NULL: there is no audit log */
	uint64_t records;    /* the number of the last action in the audit log */
	const struct cgroup *cgroup; /* borrowed; the sandbox's cgroup, which counts OOM
				      * kills; NULL: none */
	uint64_t memory_limit, oom_kills; /* the memory limit in bytes, and the OOM kills
					   * that were counted so far */

	struct dedup *dedup; /* owned; finds repeated actions */
	struct queue queue;
	unsigned files, errands; /* how many file actions, and how many errands, the
				  * executor is doing */
	char *ended; /* owned; NULL while the sandbox lives; then the error that answers
		      * every action */
};

/* Returns now_us in ms. */
static inline int64_t dispatcher_now(const struct dispatcher *d)
{
	return d->now_us / 1000;
}

void dispatcher_init(struct dispatcher *d);
/* Frees the dispatcher. The audit log redacts only the policy's secrets again. */
void dispatcher_done(struct dispatcher *d);

/* Initialises the instance `g`, and gives the dispatcher all that actions need from the
 * launch: rules, secrets, audit log, cgroup, and the request for a session's shell.
 * Before the call, dispatcher_init() was called, now_us is set, and the instance has its
 * callbacks. None of the three may be moved or freed before dispatcher_done(), since
 * they point to each other. */
void dispatcher_attach(struct dispatcher *d, struct launch *l, struct instance *g);

/* Called when a client has gone. Its actions are still done, but their answers are
 * dropped. No other client may have its name. */
void dispatcher_leave(struct dispatcher *d, struct dispatcher_client *c);

/* Called when the client can send no more: its open questions count as answered with no.
 * Returns whether there were any. */
bool dispatcher_unask(struct dispatcher *d, const struct dispatcher_client *c);

/* Takes one line of input, without its newline. */
void dispatcher_line(struct dispatcher *d, struct dispatcher_client *c, const char *line,
		     size_t len);
/* Answers a line that is longer than ACTION_LINE_MAX, and was not kept. */
void dispatcher_long_line(struct dispatcher *d, struct dispatcher_client *c);
/* Takes an action that is a request on the control socket. `id` is the request's id, a
 * JSON value that the dispatcher takes over. */
void dispatcher_request(struct dispatcher *d, struct dispatcher_client *c, char *id,
			const char *line, size_t len);
/* Cancels the first action of this client with this id.  False: there is none. */
bool dispatcher_cancel(struct dispatcher *d, const struct dispatcher_client *c,
		       uint64_t id);

/* Takes a frame from the executor.  -1: the executor broke the protocol. */
int dispatcher_frame(struct dispatcher *d, const struct frame *f, struct err *e);

/* Called for a system call that the seccomp filter refused (denials_take()), so
 * that the answer to the action that runs in `session` (an id of setsid(2)) names the
 * call. `is_alone`: nothing but actions runs in the sandbox, so a call from any other
 * session belongs to the running action, if there is just one. */
void dispatcher_refused(struct dispatcher *d, const struct refused_call *c, pid_t session,
		  bool is_alone);

/* Called for a host that rules have refused.  No connection shows which process made it,
 * so with `is_alone` the host is told to the running action, if there is just one. */
void dispatcher_refused_host(struct dispatcher *d, const struct refused_host *h,
			     bool is_alone);

/* Puts requests for all tasks that can start now into `wire`, as far as they fit; false:
 * none started. Must be called after the other functions, and again when `wire` has been
 * flushed. */
bool dispatcher_start(struct dispatcher *d);

/* Redacts the value in all output from now on. *ret_is_hidden: false if the value is too
 * short to be redacted. -1: there is no room for another secret. */
int dispatcher_hide(struct dispatcher *d, const char *value, bool *ret_is_hidden,
		    struct err *e);

/* Moves waiting observations into the client's `out`, as far as it has room. */
void dispatcher_deliver(struct dispatcher_client *c);

/* Returns when the executor must have sent its next answer, in ms of clock.h; 0: no
 * answer is due. The executor's own time-outs end well before, so a late answer means
 * that the executor hangs. */
int64_t dispatcher_deadline(const struct dispatcher *d);
/* Like dispatcher_deadline(), for a loop that stops reading from the executor while this
 * client does not read its output. `away_ms` is when the loop last did not read. No
 * answer is due while it does not read, nor for DISPATCHER_GRACE_MS after that. */
int64_t dispatcher_deadline_of(const struct dispatcher *d,
			       const struct dispatcher_client *c, int64_t away_ms);
/* Returns when the next time-out ends of a git action that waits for its session's
 * shell, in ms of clock.h; 0: no such action waits. The time-out includes the shell's
 * start, since a process in the sandbox can stop that shell. dispatcher_expire() answers
 * the action then. */
int64_t dispatcher_due(const struct dispatcher *d);
void dispatcher_expire(struct dispatcher *d, int64_t now);
/* Moves each deadline by `ms`, since the sandbox was paused for so long. */
void dispatcher_postpone(struct dispatcher *d, int64_t ms);

/* Called when the sandbox has ended: answers all open actions, and all that still come,
 * with the error `why`. */
void dispatcher_end(struct dispatcher *d, const char *why);

/* Returns whether all actions of the client have been answered; its `out` may still
 * hold answers. */
bool dispatcher_is_idle(const struct dispatcher_client *c);
/* Returns whether so many tasks are in the queue that no more lines may be read. */
bool dispatcher_is_full(const struct dispatcher *d);
/* Returns whether the client has so much unread that no more of its lines may be
 * handled. */
bool dispatcher_is_behind(const struct dispatcher_client *c);

/* --- between the parts of the dispatcher ----------------------------------------- */

/* How long after its time-out an action's answer may still come, in ms. */
#define DISPATCHER_GRACE_MS 10000

/* The program that a session runs. */
#define DISPATCHER_SHELL "/bin/bash"

/* The error for an action for which no session is free. */
#define DISPATCHER_NO_PLACE                                                                 \
	"ERROR: more than 64 sessions: so many are there, each for as long as the sandbox " \
	"lives; name one of these, without is_static"

/* Tells a client how many bytes of the command's output it missed, if any. */
void dispatcher_tell_dropped(struct asker *to, const struct action *a);

/* Writes the first part of the file names of a session's logs: the session's name, cut
 * to fit, with '_' in place of all bytes but letters, digits, '-' and '_'. */
#define DISPATCHER_LABEL_MAX 33
void dispatcher_label(const struct session *s, char ret[DISPATCHER_LABEL_MAX]);
/* Returns the directory in which the session's shell begins; allocated. */
char *dispatcher_cwd(const struct dispatcher *d, const struct session *s);

/* Ends a session that was made for one action, once that action is done. */
void dispatcher_close(struct dispatcher *d, struct session *s);

/* Returns all that an observation tells of a task, apart from its result. */
struct observed dispatcher_observed(const struct dispatcher *d, const struct task *t);

/* Tells the executor of the plugins of which it was not told yet, as far as there is
 * room for the messages. */
void dispatcher_introduce(struct dispatcher *d);
/* Finds the plugin that answers the task. WAITS: that plugin is busy, or not all plugins
 * have said what they answer. DONE: no plugin answers it, and the task was answered with
 * an error. */
enum seated { SEATED_GO, SEATED_WAITS, SEATED_DONE };
enum seated dispatcher_seat_plugin(struct dispatcher *d, struct task *t);
/* Puts the request for the task's plugin into `wire`. */
void dispatcher_put_call(struct dispatcher *d, const struct session *s, struct task *t,
			 struct err *e);
/* Take the executor's messages about a plugin, and about a plugin's action. -1: the
 * message is malformed, or comes at the wrong time. */
int dispatcher_offer(struct dispatcher *d, struct known_plugin *p, const struct frame *f,
		     struct err *e);
int dispatcher_state(struct dispatcher *d, struct known_plugin *p, const struct frame *f,
		     struct err *e);
int dispatcher_answered(struct dispatcher *d, struct task *t, const struct frame *f,
			struct err *e);

/* Decides whether a task may be done. GO: it may. WAITS: a client was asked and has not
 * answered, or cannot be asked yet. DONE: the task was refused, and the refusal was
 * sent. */
enum judged { JUDGED_GO, JUDGED_WAITS, JUDGED_DONE };
enum judged dispatcher_judge(struct dispatcher *d, struct task *t);
/* Notes the client's answer to a question. False: there is no such open question to this
 * client. */
bool dispatcher_confirm(struct dispatcher *d, const struct dispatcher_client *c,
			const struct action *a);

/* Records a task in the audit log before it is done. -1: that failed; the task was
 * answered with an error, and must not be done. */
int dispatcher_record(struct dispatcher *d, struct task *t);
void dispatcher_record_denial(struct dispatcher *d, const struct task *t,
			      const struct verdict *v);
/* Records a task's result in the audit log, if the task itself is in it. The result is
 * set by the two functions below, or is an error's id, HUTCH$... */
void dispatcher_record_result(struct dispatcher *d, const struct task *t);
void dispatcher_note_report(struct task *t, const struct report *r);
void dispatcher_note_outcome(struct task *t, uint32_t outcome);

/* Does an ACT_ENV, a change of variables, at once. */
void dispatcher_set_env(struct dispatcher *d, struct task *t);
/* Sends the last bytes of a streamed task's output, which were held back since they
 * could be the beginning of a secret. */
void dispatcher_flush_output(struct dispatcher *d, struct task *t);

/* Ends a task: sends the observation `line`, which is taken over, to every client that
 * waits for it, and frees the task. */
void dispatcher_finish(struct dispatcher *d, struct task *t, struct buffer *line);
/* Ends an errand whose time-out passed before it was sent to the executor. */
void dispatcher_finish_late(struct dispatcher *d, struct task *t);
void dispatcher_finish_error(struct dispatcher *d, struct task *t, const char *error_id,
		       const char *text);
