#include "actions/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

void queue_init(struct queue *q)
{
	*q = (struct queue){ .next_id = 1, .session_count = 1 };
}

static void task_free(struct task *t)
{
	action_done(&t->action);
	buffer_done(&t->content);
	buffer_done(&t->previous);
	refused_hosts_done(&t->hosts);
	for (size_t i = 0; i < t->asker_count; i++)
		free(t->askers[i].id);
	free(t);
}

void queue_done(struct queue *q)
{
	for (size_t i = 0; i < q->session_count; i++) {
		struct session *s = &q->sessions[i];
		for (struct task *t = s->first, *next; t; t = next) {
			next = t->next;
			task_free(t);
		}
		redact_stream_done(&s->shown);
		free(s->name);
	}
	*q = (struct queue){ 0 };
}

struct session *queue_session_by_id(struct queue *q, uint32_t id)
{
	for (size_t i = 0; id && i < q->session_count; i++)
		if (q->sessions[i].id == id)
			return &q->sessions[i];
	return NULL;
}

/* Returns a new id. Ids wrap around after 2^32; 0 is never used, since it means no
 * session. */
uint32_t queue_new_id(struct queue *q)
{
	uint32_t id;

	do {
		id = q->next_id++;
	} while (id == 0 || queue_session_by_id(q, id));
	return id;
}

/* Takes a free element of `sessions` and gives it an id; NULL: none is free. */
static struct session *take_place(struct queue *q)
{
	size_t at = 1;

	while (at < q->session_count && q->sessions[at].id)
		at++;
	if (at == ARRAY_LEN(q->sessions))
		return NULL;
	q->session_count += at == q->session_count;
	q->sessions[at] = (struct session){ .id = queue_new_id(q) };
	return &q->sessions[at];
}

struct session *queue_session(struct queue *q, const char *name)
{
	for (size_t i = 0; i < q->session_count; i++)
		if (q->sessions[i].name && !strcmp(q->sessions[i].name, name))
			return &q->sessions[i];
	struct session *s = take_place(q);
	if (s)
		s->name = text_copy(name);
	return s;
}

bool queue_is_static(const struct session *s)
{
	return s->id && !s->name;
}

static size_t count_statics(const struct queue *q)
{
	size_t count = 0;

	for (size_t i = 0; i < q->session_count; i++)
		count += queue_is_static(&q->sessions[i]);
	return count;
}

bool queue_has_place(const struct queue *q)
{
	for (size_t i = 1; i < ARRAY_LEN(q->sessions); i++)
		if (i >= q->session_count || !q->sessions[i].name)
			return true;
	return false;
}

void queue_leave(struct queue *q, struct session *s)
{
	redact_stream_done(&s->shown);
	*s = (struct session){ 0 };
	while (q->session_count > 1 && !q->sessions[q->session_count - 1].id)
		q->session_count--;
}

static void line_up(struct session *s, struct task *t)
{
	t->session = s;
	if (s->last)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
}

struct session *queue_seat(struct queue *q)
{
	struct session *lobby = &q->sessions[0];
	struct task *t = lobby->first;
	struct session *s = t && count_statics(q) < QUEUE_STATICS ? take_place(q) : NULL;

	if (!s)
		return NULL;
	lobby->first = t->next;
	if (!lobby->first)
		lobby->last = NULL;
	t->next = NULL;
	line_up(s, t);
	return s;
}

struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max)
{
	struct task *t = mem_zeroed(1, sizeof(*t));

	t->action = *a;
	t->bytes = bytes;
	buffer_init(&t->content, content_max);
	line_up(s ? s : &q->sessions[0], t);
	q->count++;
	q->bytes += bytes;
	return t;
}

void queue_remove(struct queue *q, struct task *t)
{
	struct session *s = t->session;
	struct task **at = &s->first, *before = NULL;

	while (*at != t) {
		before = *at;
		at = &before->next;
	}
	*at = t->next;
	if (s->last == t)
		s->last = before;
	q->count--;
	q->bytes -= t->bytes;
	task_free(t);
}

struct task *queue_under_way(struct queue *q, uint32_t id)
{
	for (size_t i = 0; i < q->session_count; i++) {
		struct task *t = q->sessions[i].first;
		if (t && t->is_sent && t->id == id)
			return t;
	}
	return NULL;
}

struct task *queue_only(struct queue *q)
{
	struct task *only = NULL;

	for (size_t i = 0; i < q->session_count; i++) {
		struct task *t = q->sessions[i].first;
		if (!t || !t->is_sent)
			continue;
		if (only)
			return NULL;
		only = t;
	}
	return only;
}

struct task *queue_find(struct queue *q, const char *client, uint64_t id,
			const char *timestamp)
{
	for (size_t i = 0; i < q->session_count; i++)
		for (struct task *t = q->sessions[i].first; t; t = t->next)
			if (t->action.has_id && t->action.id == id &&
			    !strcmp(t->action.client, client) &&
			    (!timestamp || !strcmp(t->action.timestamp, timestamp)))
				return t;
	return NULL;
}
