/* queue -- the actions that wait or are under way, each behind the others of its
 * session.
 *
 * Each session does its actions one after the other, in the order in which they
 * came; sessions go side by side.  Only the first of a session can be under way.
 *
 * An action that has a session of its own waits in the first place of all, the lobby,
 * until there is a place for that session, which is given back behind it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/mask.h"
#include "sandbox/act/action.h"
#include "sandbox/refusals.h"

#define QUEUE_SESSIONS 64
/* Of which so many are for one action each, at a time. */
#define QUEUE_STATICS 16

/* So many may wait for the same action: who asked, and who asked again. */
#define QUEUE_ASKERS 9

/* So many kinds of refused calls are told with an action. */
#define TASK_REFUSED 8

struct desk_client;
struct session;

struct asker {
	struct desk_client *client; /* borrowed; NULL: it has gone */
	char *id; /* owned: of its request (docs/control.md); NULL: none */
	uint64_t dropped; /* bytes of events that it was not told */
};

struct task {
	struct action action;	 /* owned */
	struct session *session; /* whose queue it is in */
	size_t bytes;		 /* of its line */
	struct asker askers[QUEUE_ASKERS];
	size_t asker_count;
	bool is_one; /* a run, and no more than one command: it was looked at */
	bool is_allowed; /* by the rules, or by who was asked */
	uint32_t ask;	 /* the number under which it was asked; 0: it was not */
	struct desk_client *asked; /* borrowed; NULL: nobody, or who has gone */
	const char *rule;  /* that decided; borrowed from the rules; NULL: none */
	uint64_t record;   /* its number in the audit log; 0: it is not there */

	/* Once it was sent to the executor: */
	bool is_sent, is_streamed;
	bool is_held; /* the executor knows that somebody does not read */
	uint32_t id;			 /* on the wire */
	int64_t started_us, deadline_ms; /* clock.h; 0: not yet */
	struct buffer content;		 /* what came of it so far */
	struct buffer previous;		 /* the rest of the command before */
	bool has_previous;
	const char *result; /* in a word, static; NULL: it was done */
	bool has_exit_code;
	uint32_t exit_code;
	struct refused_call refused[TASK_REFUSED]; /* while it was under way */
	size_t refused_count;

	struct task *next;
};

struct session {
	char *name; /* owned; NULL: of one action, or nobody's, or the lobby */
	uint32_t id; /* 0: nobody's, or the lobby */
	pid_t pid; /* of its shell, as the inside numbers it; 0: it has none */
	bool is_open, is_opening;
	bool has_no_shell; /* it could not be opened; only a command tries again */
	int64_t deadline_ms; /* while it is opening */
	struct mask_stream shown; /* owned; of what is streamed */
	struct task *first, *last; /* owned */
};

struct queue {
	struct session sessions[1 + QUEUE_SESSIONS]; /* the first is the lobby */
	size_t session_count; /* places that are looked at */
	size_t count, bytes;  /* of the tasks */
	uint32_t next_id; /* sessions and tasks share the ids of the wire */
};

void queue_init(struct queue *q);
void queue_done(struct queue *q);

/* An id for the wire that no session has. */
uint32_t queue_new_id(struct queue *q);

/* The session of that name, made where there was none; NULL: there are too many. */
struct session *queue_session(struct queue *q, const char *name);
struct session *queue_session_by_id(struct queue *q, uint32_t id);

/* Whether a session for one action can be had, at once or when others have ended. */
bool queue_has_place(const struct queue *q);
/* Moves the first task of the lobby to a session of its own, and gives that; NULL:
 * there is none now, or no task. */
struct session *queue_seat(struct queue *q);
/* A session that was for one action, which is done, gives its place back. */
void queue_leave(struct queue *q, struct session *s);
bool queue_is_static(const struct session *s);

/* Takes the action over; without `s` into the lobby.  At most `content_max` bytes are
 * to come of it. */
struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max);
void queue_remove(struct queue *q, struct task *t);

/* The one that is under way with this id on the wire, or NULL. */
struct task *queue_under_way(struct queue *q, uint32_t id);

/* The one that is under way alone, or NULL. */
struct task *queue_only(struct queue *q);

/* The first of this client with this id, and, unless NULL, this timestamp. */
struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp);
