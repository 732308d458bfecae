/* queue -- the actions that wait or run, in order within each session.
 *
 * Each session does its actions one after the other, in the order in which they came;
 * different sessions run at the same time. Only the first action of a session can run.
 *
 * An action that asked for a session of its own (is_static) waits in sessions[0], the
 * lobby, until one of the other elements is free for that session; the element is free
 * again after the action. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/action.h"
#include "base/buffer.h"
#include "base/redact.h"
#include "egress/launch/refused_host.h"
#include "sandbox/monitor/denials.h"

#define QUEUE_SESSIONS 64
/* The most sessions at a time that were made for one action each. */
#define QUEUE_STATICS 16

/* The most clients that can wait for one action: the first, and those that repeated
 * it. */
#define QUEUE_ASKERS 9

/* The most different refused system calls that are reported with an action. */
#define TASK_REFUSED 8

struct dispatcher_client;
struct known_action;
struct known_plugin;
struct session;

struct asker {
	struct dispatcher_client *client; /* borrowed; NULL: the client has gone */
	char *id; /* owned; the id of the client's JSON-RPC request (docs/control.md);
		   * NULL: there is none */
	uint64_t dropped; /* bytes of streamed output that the client was not sent */
};

struct task {
	struct action action;	 /* owned; the action to be done */
	struct session *session; /* borrowed; the session that does the task */
	size_t bytes;		 /* the length of the action's input line */
	struct asker askers[QUEUE_ASKERS];
	size_t asker_count;
	bool is_one; /* a run that is known to be a single command (bash_split.h) */
	bool is_allowed; /* the policy's rules, or a client's answer, allow the action */
	uint32_t ask;	 /* the number of the question whether the action may be done; 0:
			  * none was asked */
	struct dispatcher_client *asked; /* borrowed; the client whose answer to that
					  * question is missing; NULL: none */
	const char *rule;  /* borrowed; the rule that decided whether the action may be
			    * done; NULL: none */
	struct known_plugin
		*plugin; /* borrowed; the plugin that answers the action; NULL:
				      * none does, or it is not known yet */
	const struct known_action *offered; /* borrowed; what that plugin has said of the
					     * action */
	uint64_t record;   /* the action's number in the audit log; 0: it is not in the
			    * log */

	/* The members from here on are set when the task is sent to the executor. */
	bool is_sent, is_streamed;
	bool is_held; /* the executor was told to hold the output, since a client does
		       * not read it */
	uint32_t id;			 /* the task's id in messages to and from the
					  * executor */
	int64_t started_us, deadline_ms; /* when the task was sent, and when its answer
					  * must have come (clock.h); 0: not sent yet */
	struct buffer content;		 /* the answer's content that has come so far */
	struct buffer previous;		 /* the rest of the previous command's output,
					  * which the client has not seen */
	bool has_previous;
	const char *result; /* static; how the action failed, in one word; NULL: it did
			     * not fail */
	bool has_exit_code;
	uint32_t exit_code;
	struct refused_call refused[TASK_REFUSED]; /* system calls that were refused
						    * while the action ran */
	size_t refused_count;
	struct refused_hosts hosts; /* those that rules refused while it ran */

	struct task *next;
};

struct session {
	char *name; /* owned; NULL: the element is free, the lobby, or a session for one
		     * action */
	uint32_t id; /* the session's id in messages to the executor; 0: the element is
		      * free, or the lobby */
	pid_t pid; /* the pid, in the sandbox, of the session's shell; 0: no shell */
	bool is_open, is_opening;
	bool has_no_shell; /* the shell could not be started; only a `run` tries to start
			    * it again */
	int64_t deadline_ms; /* when the shell must have started, in ms of clock.h */
	struct redact_stream shown; /* owned; the state of redaction in streamed output */
	struct task *first, *last; /* owned; the tasks of the session, in order */
};

struct queue {
	struct session sessions[1 + QUEUE_SESSIONS]; /* sessions[0] is the lobby */
	size_t session_count; /* elements in use: from 0 to the last one that is not
			       * free */
	size_t count, bytes;  /* the number of tasks, and the sum of the bytes of their
			       * lines */
	uint32_t next_id; /* the next id; sessions and tasks get theirs from one
			   * sequence */
};

void queue_init(struct queue *q);
void queue_done(struct queue *q);

/* Returns a new id for messages to the executor, which no session has. */
uint32_t queue_new_id(struct queue *q);

/* Returns the session of that name; makes one if there is none. NULL: there are too many
 * sessions. */
struct session *queue_session(struct queue *q, const char *name);
struct session *queue_session_by_id(struct queue *q, uint32_t id);

/* Returns whether an action can get a session of its own, now or after other actions
 * have ended. False: sessions with names, which do not end, have taken all elements. */
bool queue_has_place(const struct queue *q);
/* Moves the first task from the lobby to a new session of its own, and returns that
 * session; NULL: no session is free, or the lobby is empty. */
struct session *queue_seat(struct queue *q);
/* Frees a session that was made for one action, after that action. */
void queue_leave(struct queue *q, struct session *s);
bool queue_is_static(const struct session *s);

/* Adds a task for the action, and takes over the action's content; `s` NULL: adds it to
 * the lobby. The answer's content may have at most `content_max` bytes. */
struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max);
void queue_remove(struct queue *q, struct task *t);

/* Returns the running task with this id in messages; NULL: there is none. */
struct task *queue_under_way(struct queue *q, uint32_t id);

/* Returns the only running task; NULL: none or several are running. */
struct task *queue_only(struct queue *q);

/* Returns the first task of this client with this id and this timestamp (NULL: with
 * any). */
struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp);
