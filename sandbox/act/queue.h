/* queue -- the actions that wait or are under way, each behind the others of its
 * session.
 *
 * Each session does its actions one after the other, in the order in which they
 * came; sessions go side by side.  Only the first of a session can be under way. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/mask.h"
#include "sandbox/act/action.h"

#define QUEUE_SESSIONS 64

/* So many may wait for the same action: who asked, and who asked again. */
#define QUEUE_ASKERS 9

struct desk_client;
struct session;

struct asker {
	struct desk_client *client; /* borrowed; NULL: it has gone */
	char *id; /* owned: of its request (docs/control.md); NULL: none */
};

struct task {
	struct action action;	 /* owned */
	struct session *session; /* whose queue it is in */
	size_t bytes;		 /* of its line */
	struct asker askers[QUEUE_ASKERS];
	size_t asker_count;
	bool is_one; /* a run, and no more than one command: it was looked at */

	/* Once it was sent to the executor: */
	bool is_sent, is_streamed;
	uint32_t id;			 /* on the wire */
	int64_t started_us, deadline_ms; /* clock.h; 0: not yet */
	struct buffer content;		 /* what came of it so far */
	struct buffer previous;		 /* the rest of the command before */
	bool has_previous;

	struct task *next;
};

struct session {
	char *name; /* owned */
	uint32_t id;
	bool is_open, is_opening;
	int64_t deadline_ms; /* while it is opening */
	struct mask_stream shown; /* owned; of what is streamed */
	struct task *first, *last; /* owned */
};

struct queue {
	struct session sessions[QUEUE_SESSIONS];
	size_t session_count, count, bytes; /* count, bytes: of the tasks in it */
	uint32_t next_id; /* sessions and tasks share the ids of the wire */
};

void queue_init(struct queue *q);
void queue_done(struct queue *q);

/* An id for the wire that no session has. */
uint32_t queue_new_id(struct queue *q);

/* The session of that name, made where there was none; NULL: there are too many. */
struct session *queue_session(struct queue *q, const char *name);
struct session *queue_session_by_id(struct queue *q, uint32_t id);

/* Takes the action over.  At most `content_max` bytes are to come of it. */
struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max);
void queue_remove(struct queue *q, struct task *t);

/* The one that is under way with this id on the wire, or NULL. */
struct task *queue_under_way(struct queue *q, uint32_t id);

/* The first of this client with this id, and, unless NULL, this timestamp. */
struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp);
