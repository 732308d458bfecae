/* queue -- the actions that wait or are under way, in order within each
 * session.
 *
 * Each session does its actions one after the other, in the order in which they
 * came; sessions run side by side.  Only the first action of a session can be
 * under way.
 *
 * An action with a session of its own (is_static) waits in the lobby, the first
 * place of all, until a place for that session is free; the place is given back
 * after the action. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/action.h"
#include "base/buffer.h"
#include "base/redact.h"
#include "sandbox/monitor/denials.h"

#define QUEUE_SESSIONS 64
/* At most this many sessions are made for one action each. */
#define QUEUE_STATICS 16

/* The number of clients that can wait for one action: the first, and those that
 * repeated the action. */
#define QUEUE_ASKERS 9

/* The number of kinds of refused system calls that are told with an action. */
#define TASK_REFUSED 8

struct dispatcher_client;
struct session;

struct asker {
	struct dispatcher_client *client; /* borrowed; the client to answer; NULL: the
					   * client has gone */
	char *id; /* owned: id of the client's request (docs/control.md); NULL: none */
	uint64_t dropped; /* bytes of output events that the client was not sent */
};

struct task {
	struct action action;	 /* owned; the action to be done */
	struct session *session; /* in whose queue the task is */
	size_t bytes;		 /* length of the action's line in bytes */
	struct asker askers[QUEUE_ASKERS];
	size_t asker_count;
	bool is_one; /* a run that was checked to be a single command */
	bool is_allowed; /* the rules, or a client's answer, have allowed the action */
	uint32_t ask;	 /* number of the question about the action; 0: none */
	struct dispatcher_client *asked; /* borrowed; the client with an open question; NULL:
				    * none */
	const char *rule;  /* the rule that decided about the action; borrowed; NULL:
			    * none */
	uint64_t record;   /* number of the action in the audit log; 0: not on record */

	/* The members from here on are set when the task is sent to the executor. */
	bool is_sent, is_streamed;
	bool is_held; /* the executor was told that a client does not read */
	uint32_t id;			 /* the task's id on the wire */
	int64_t started_us, deadline_ms; /* times of clock.h; 0: the task was not sent
					  * yet */
	struct buffer content;		 /* content of the answer so far */
	struct buffer previous;		 /* rest of the previous command's output */
	bool has_previous;
	const char *result; /* how the action failed, in one word, static; NULL: it was
			     * done */
	bool has_exit_code;
	uint32_t exit_code;
	struct refused_call refused[TASK_REFUSED]; /* system calls that were refused
						    * while the action was under way */
	size_t refused_count;

	struct task *next;
};

struct session {
	char *name; /* owned; NULL: a session for one action, a free place, or the
		     * lobby */
	uint32_t id; /* the session's id on the wire; 0: a free place, or the lobby */
	pid_t pid; /* the pid of the session's shell inside; 0: no shell */
	bool is_open, is_opening;
	bool has_no_shell; /* opening the shell failed; only a command tries again */
	int64_t deadline_ms; /* when the shell must have opened */
	struct redact_stream shown; /* owned; redaction state of streamed output */
	struct task *first, *last; /* owned; the tasks of the session, in order */
};

struct queue {
	struct session sessions[1 + QUEUE_SESSIONS]; /* the first place is the lobby */
	size_t session_count; /* places to look at, free ones included */
	size_t count, bytes;  /* number of the tasks, and bytes of their lines */
	uint32_t next_id; /* the protocol's ids of sessions and tasks come from one
			   * sequence */
};

void queue_init(struct queue *q);
void queue_done(struct queue *q);

/* Returns a new id for the wire, which no session has. */
uint32_t queue_new_id(struct queue *q);

/* Returns the session of that name, and makes the session if there is none; NULL:
 * there are too many. */
struct session *queue_session(struct queue *q, const char *name);
struct session *queue_session_by_id(struct queue *q, uint32_t id);

/* Returns whether an action can get a session of its own, either now or when other
 * sessions have ended.  False: such an action is refused. */
bool queue_has_place(const struct queue *q);
/* Moves the first task of the lobby to a session of its own, and returns that
 * session; NULL: no place is free, or the lobby is empty. */
struct session *queue_seat(struct queue *q);
/* Gives back the place of a session whose one action is done. */
void queue_leave(struct queue *q, struct session *s);
bool queue_is_static(const struct session *s);

/* Adds an action as a task, and takes its contents over; `s` NULL: into the lobby.
 * The answer's content may have at most `content_max` bytes. */
struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max);
void queue_remove(struct queue *q, struct task *t);

/* Returns the task under way with this id on the wire, or NULL. */
struct task *queue_under_way(struct queue *q, uint32_t id);

/* Returns the task that is under way alone, or NULL. */
struct task *queue_only(struct queue *q);

/* Returns the first task of this client with this id and, unless NULL, this timestamp. */
struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp);
