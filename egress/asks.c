#include "egress/asks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static struct ask *find(const struct asks *a, const char *goal, uint16_t port)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		struct ask *x = a->items[i];
		if (x && x->state != ASK_FREE && x->port == port &&
		    !strcmp(x->goal, goal))
			return x;
	}
	return NULL;
}

static struct ask *find_free(struct asks *a)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		if (!a->items[i]) {
			a->items[i] = calloc(1, sizeof(*a->items[i]));
			if (!a->items[i])
				abort();
		}
		if (a->items[i]->state == ASK_FREE)
			return a->items[i];
	}
	return NULL;
}

struct ask *asks_get(struct asks *a, const char *goal, uint16_t port, int64_t now,
		     bool *ret_is_new)
{
	struct ask *x = find(a, goal, port);

	*ret_is_new = false;
	if (x || a->pending == ASKS_PENDING_MAX || strlen(goal) >= ASKS_GOAL_MAX)
		return x;
	x = find_free(a);
	if (!x)
		return NULL;
	*x = (struct ask){ .state = ASK_PENDING,
			   .id = ++a->last_id,
			   .port = port,
			   .due = now + a->wait_ms };
	memcpy(x->goal, goal, strlen(goal));
	a->pending++;
	*ret_is_new = true;
	return x;
}

static void decide(struct asks *a, struct ask *x, bool is_allowed)
{
	x->state = is_allowed ? ASK_ALLOWED : ASK_DENIED;
	a->pending--;
	a->has_news = true;
}

/* Returns whether an answer for the sandbox leaves room for as many questions as may be
 * pending. */
static bool has_room(const struct asks *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < ASKS_MAX; i++)
		kept += a->items[i] && a->items[i]->is_for_sandbox;
	return kept < ASKS_MAX - ASKS_PENDING_MAX;
}

bool asks_answer(struct asks *a, uint32_t id, bool is_allowed, bool is_for_sandbox)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		struct ask *x = a->items[i];
		if (!x || x->state != ASK_PENDING || x->id != id)
			continue;
		x->is_for_sandbox = is_for_sandbox && has_room(a);
		decide(a, x, is_allowed);
		return true;
	}
	return false;
}

void asks_drop(struct asks *a, struct ask *x)
{
	decide(a, x, false);
}

void asks_tick(struct asks *a, int64_t now)
{
	for (size_t i = 0; a->pending && i < ASKS_MAX; i++) {
		struct ask *x = a->items[i];
		if (x && x->state == ASK_PENDING && now >= x->due)
			decide(a, x, false);
	}
}

int64_t asks_due(const struct asks *a)
{
	int64_t due = 0;

	for (size_t i = 0; a->pending && i < ASKS_MAX; i++)
		if (a->items[i] && a->items[i]->state == ASK_PENDING)
			due = clock_sooner(due, a->items[i]->due);
	return due;
}

bool asks_has_news(struct asks *a)
{
	bool had = a->has_news;

	a->has_news = false;
	return had;
}

void asks_forget(struct asks *a)
{
	for (size_t i = 0; i < ASKS_MAX; i++)
		if (a->items[i] && a->items[i]->state > ASK_PENDING &&
		    !a->items[i]->is_for_sandbox)
			a->items[i]->state = ASK_FREE;
}

void asks_done(struct asks *a)
{
	for (size_t i = 0; i < ASKS_MAX; i++)
		free(a->items[i]);
	*a = (struct asks){ .wait_ms = a->wait_ms };
}
