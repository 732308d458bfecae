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
/* At most this many of them are for one action each. */
#define QUEUE_STATICS 16

/* Clients that wait for one action: the first, and those that repeated it. */
#define QUEUE_ASKERS 9

/* Kinds of refused system calls that are told with an action. */
#define TASK_REFUSED 8

struct dispatcher_client;
struct session;

struct asker {
	struct dispatcher_client *client; /* borrowed; NULL: the client has gone */
	char *id; /* owned: id of its request (docs/control.md); NULL: none */
	uint64_t dropped; /* bytes of output events that the client was not sent */
};

struct task {
	struct action action;	 /* owned */
	struct session *session; /* in whose queue the task is */
	size_t bytes;		 /* of its line */
	struct asker askers[QUEUE_ASKERS];
	size_t asker_count;
	bool is_one; /* a run that was checked to be a single command */
	bool is_allowed; /* by the rules, or by a client's answer */
	uint32_t ask;	 /* number of the question about it; 0: none */
	struct dispatcher_client *asked; /* borrowed; the client with an open question; NULL:
				    * none */
	const char *rule;  /* the rule that decided; borrowed; NULL: none */
	uint64_t record;   /* number in the audit log; 0: not on record */

	/* Set when the task is sent to the executor: */
	bool is_sent, is_streamed;
	bool is_held; /* the executor was told that a client does not read */
	uint32_t id;			 /* on the wire */
	int64_t started_us, deadline_ms; /* clock.h; 0: not yet */
	struct buffer content;		 /* content of the answer so far */
	struct buffer previous;		 /* rest of the previous command's output */
	bool has_previous;
	const char *result; /* one word, static; NULL: done */
	bool has_exit_code;
	uint32_t exit_code;
	struct refused_call refused[TASK_REFUSED]; /* while it was under way */
	size_t refused_count;

	struct task *next;
};

struct session {
	char *name; /* owned; NULL: for one action, a free place, or the lobby */
	uint32_t id; /* 0: a free place, or the lobby */
	pid_t pid; /* its shell's, in the numbers of the inside; 0: no shell */
	bool is_open, is_opening;
	bool has_no_shell; /* opening failed; only a command tries again */
	int64_t deadline_ms; /* while it is opening */
	struct redact_stream shown; /* owned; redaction state of streamed output */
	struct task *first, *last; /* owned */
};

struct queue {
	struct session sessions[1 + QUEUE_SESSIONS]; /* the first is the lobby */
	size_t session_count; /* places to look at, free ones included */
	size_t count, bytes;  /* of the tasks */
	uint32_t next_id; /* sessions and tasks share the ids of the wire */
};

void queue_init(struct queue *q);
void queue_done(struct queue *q);

/* A new id for the wire, which no session has. */
uint32_t queue_new_id(struct queue *q);

/* The session of that name, made if there is none; NULL: there are too many. */
struct session *queue_session(struct queue *q, const char *name);
struct session *queue_session_by_id(struct queue *q, uint32_t id);

/* Whether a session for one action can be had, now or when others have ended. */
bool queue_has_place(const struct queue *q);
/* Moves the first task of the lobby to a session of its own, and returns that
 * session; NULL: no place is free, or the lobby is empty. */
struct session *queue_seat(struct queue *q);
/* Gives back the place of a session whose one action is done. */
void queue_leave(struct queue *q, struct session *s);
bool queue_is_static(const struct session *s);

/* Takes the action over; `s` NULL: into the lobby.  The answer's content may
 * have at most `content_max` bytes. */
struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max);
void queue_remove(struct queue *q, struct task *t);

/* The task under way with this id on the wire, or NULL. */
struct task *queue_under_way(struct queue *q, uint32_t id);

/* The task that is under way alone, or NULL. */
struct task *queue_only(struct queue *q);

/* The first task of this client with this id and, unless NULL, this timestamp. */
struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp);
