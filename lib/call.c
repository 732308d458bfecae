#include "lib/call.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/own.h"
#include "lib/error.h"
#include "lib/handle.h"

struct packet *packet_new(int type)
{
	struct packet *p = malloc(sizeof(*p));

	if (p)
		*p = (struct packet){
			.m = { .type = type, .json = "null", .json_len = 4 },
			.size = sizeof(*p)
		};
	return p;
}

void packet_free(struct packet *p)
{
	if (!p)
		return;
	free(p->line);
	free(p->data);
	free(p);
}

/* --- calls ----------------------------------------------------------------- */

struct packet *call_begin(struct hutch *h, const struct request *r, void *tag,
			  struct hutch_error *e)
{
	if (h->stage == OVER) {
		if (e)
			*e = h->why;
		return NULL;
	}
	struct packet *p = packet_new(HUTCH_ANSWER);
	if (!p) {
		(void)error_memory(e);
		return NULL;
	}
	if (writer_add(h, h->last_id + 1, r, e) < 0) {
		packet_free(p);
		return NULL;
	}
	p->m.call = ++h->last_id;
	p->m.tag = tag;
	(void)snprintf(p->method, sizeof(p->method), "%s", r->method);
	p->next = h->calls;
	h->calls = p;
	writer_flush(h);
	return p;
}

struct packet *call_find(struct hutch *h, long long id)
{
	struct packet *p = h->calls;

	while (p && p->m.call != id)
		p = p->next;
	return p;
}

void call_take(struct hutch *h, struct packet *p)
{
	struct packet **at = &h->calls;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->next = NULL;
}

void call_settle(struct hutch *h, struct packet *p)
{
	p->is_done = true;
	if (p->is_forgotten) {
		call_take(h, p);
		packet_free(p);
		return;
	}
	if (p->m.tag == HUTCH_WAIT) {
		wake_for(h, p);
		return;
	}
	call_take(h, p);
	queue_put(h, p);
}

void call_forget(struct hutch *h, struct packet *p)
{
	p->is_forgotten = true;
	if (p->is_done)
		call_settle(h, p);
}

void call_fail(struct hutch *h, long long id, const struct hutch_error *why)
{
	struct packet *p = call_find(h, id);

	if (!p || p->is_done)
		return;
	p->m.error = *why;
	call_settle(h, p);
}

/* Ends every call with the error, in the order in which the calls were made. */
void call_fail_all(struct hutch *h, const struct hutch_error *why)
{
	struct packet *next, *p = h->calls, *order = NULL;

	for (; p; p = next) {
		next = p->next;
		p->next = order;
		order = p;
	}
	h->calls = order;
	for (p = order; p; p = next) {
		next = p->next;
		call_fail(h, p->m.call, why);
	}
}

/* --- the queue ------------------------------------------------------------- */

void queue_show(struct hutch *h)
{
	const bool is_shown = h->queue || h->has_backlog;
	uint64_t one = 1;

	if (h->ready < 0 || is_shown == h->is_shown)
		return;
	/* The eventfd's counter only changes between 0 and 1, so neither write(2) nor
	 * read(2) blocks. */
	h->is_shown = is_shown;
	(void)!(is_shown ? write(h->ready, &one, sizeof(one)) :
			   read(h->ready, &one, sizeof(one)));
}

static struct packet *pop(struct hutch *h)
{
	struct packet *p = h->queue;

	h->queue = p->next;
	if (!h->queue)
		h->last = NULL;
	h->queued -= p->size;
	p->next = NULL;
	return p;
}

/* Drops the oldest output or event; answers and messages about the handle itself are
 * never dropped.  Returns false if there is nothing to drop. */
static bool drop_oldest(struct hutch *h)
{
	struct packet **at = &h->queue, *before = NULL;

	while (*at && (*at)->m.type != HUTCH_OUTPUT && (*at)->m.type != HUTCH_EVENT) {
		before = *at;
		at = &before->next;
	}
	struct packet *p = *at;
	if (!p)
		return false;
	*at = p->next;
	if (h->last == p)
		h->last = before;
	h->queued -= p->size;
	h->missed++;
	packet_free(p);
	return true;
}

void queue_put(struct hutch *h, struct packet *p)
{
	while (h->queued + p->size > QUEUE_MAX && drop_oldest(h))
		;
	if (h->last)
		h->last->next = p;
	else
		h->queue = p;
	h->last = p;
	h->queued += p->size;
	queue_show(h);
	wake_for(h, NULL);
}

struct packet *queue_take(struct hutch *h)
{
	if (!h->queue)
		return NULL;
	struct packet *p = pop(h);
	p->m.missed = h->missed;
	h->missed = 0;
	queue_show(h);
	return p;
}

/* --- threads --------------------------------------------------------------- */

void wake_one(const struct waiter *w)
{
	const uint64_t one = 1;

	/* The write fails if the counter is full; the descriptor is readable then, so
	 * the thread wakes all the same. */
	(void)!write(w->wake, &one, sizeof(one));
}

void wake_for(struct hutch *h, const struct packet *call)
{
	for (const struct waiter *w = h->waiters; w; w = w->next)
		if (w->call == call)
			wake_one(w);
}
