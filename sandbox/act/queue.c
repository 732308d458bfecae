#include "sandbox/act/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

void queue_init(struct queue *q)
{
	*q = (struct queue){ .next_id = 1 };
}

static void task_free(struct task *t)
{
	action_done(&t->action);
	buffer_done(&t->content);
	buffer_done(&t->previous);
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
		mask_stream_done(&s->shown);
		free(s->name);
	}
	*q = (struct queue){ 0 };
}

struct session *queue_session_by_id(struct queue *q, uint32_t id)
{
	for (size_t i = 0; i < q->session_count; i++)
		if (q->sessions[i].id == id)
			return &q->sessions[i];
	return NULL;
}

/* They wrap after four thousand million actions; 0 stands for no session. */
uint32_t queue_new_id(struct queue *q)
{
	uint32_t id;

	do {
		id = q->next_id++;
	} while (id == 0 || queue_session_by_id(q, id));
	return id;
}

struct session *queue_session(struct queue *q, const char *name)
{
	for (size_t i = 0; i < q->session_count; i++)
		if (!strcmp(q->sessions[i].name, name))
			return &q->sessions[i];
	if (q->session_count == QUEUE_SESSIONS)
		return NULL;
	struct session *s = &q->sessions[q->session_count];
	*s = (struct session){ .name = text_copy(name), .id = queue_new_id(q) };
	q->session_count++;
	return s;
}

struct task *queue_add(struct queue *q, struct session *s, const struct action *a,
		       size_t bytes, size_t content_max)
{
	struct task *t = mem_zeroed(1, sizeof(*t));

	t->action = *a;
	t->session = s;
	t->bytes = bytes;
	buffer_init(&t->content, content_max);
	if (s->last)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
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
