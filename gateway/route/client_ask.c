/* Requests for which all pods are asked. */
#include "gateway/route/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/route/asks.h"
#include "gateway/route/figures.h"
#include "gateway/route/front.h"

/* --- all pods are asked ------------------------------------------------------------- */

static void ask(struct client *c, struct span target, enum phase p,
		bool (*is_enough)(const struct ask *a), void (*done)(void *context))
{
	struct request r;

	if (!c->asks && c->front->asks >= FRONT_ASKS) {
		client_refuse(c, 503,
			      "The router has too many questions to all pods under way");
		return;
	}
	asks_end(c->asks);
	client_enter(c, p);
	client_watch(c);
	request_init(&r, &c->head, buffer_data(&c->asked));
	c->asks = asks_begin(c->front, &r, target, p == PHASE_SEARCH, c, is_enough, done);
}

/* Returns the first answer by which a pod refuses, such as for a wrong key; NULL: none
 * does. */
static const struct ask *find_refusal(const struct asks *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].status >= 400 && all->items[i].status < 500 &&
		    all->items[i].status != 404)
			return &all->items[i];
	return NULL;
}

/* Names the pods without an answer, as a field; "" where all have answered.  Allocated.
 */
static char *missing(const struct client *c)
{
	const struct asks *all = c->asks;
	struct list names = { 0 };

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].status != 200)
			list_add(&names, c->front->pods->items[i].name);
	AUTO_FREE char *text = names.count ? list_join(&names, 0, ", ") : NULL;
	list_done(&names);
	return text ? text_format("Hutch-Missing: %s\r\n", text) : text_copy("");
}

/* The page of a list begins at the same number in each pod (E2B's x-next-token). */
static char *next_page(const struct asks *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct span token = ask_field(&all->items[i], "x-next-token");
		if (all->items[i].status == 200 && token.len > 0 && token.len < 16)
			return text_format("x-next-token: %.*s\r\n", (int)token.len,
					   token.at);
	}
	return text_copy("");
}

static void on_lists(void *context)
{
	struct client *c = context;
	const enum merge_form form = c->decision.merge;
	const struct ask *refusal = find_refusal(c->asks);
	struct buffer merged;
	size_t count = 0;

	if (refusal) {
		client_go_to(c, refusal->pod); /* the pod says why */
		return;
	}
	json_write_begin(&merged);
	merge_begin(form, &merged);
	for (size_t i = 0; i < c->asks->count; i++) {
		struct ask *a = &c->asks->items[i];
		const struct span body = ask_body(a);

		if (a->status == 200 && merge_add(form, body.at, body.len, &merged))
			count++;
		else
			a->status = 0;
	}
	merge_end(form, &merged);
	AUTO_FREE char *absent = missing(c);
	AUTO_FREE char *page = next_page(c->asks);
	AUTO_FREE char *more = text_format("%s%s", absent, page);
	AUTO_FREE char *text = json_write_end(&merged);
	if (count == 0)
		client_refuse(c, 503, "No pod answers");
	else
		client_reply(c, 200, "application/json", more, text, strlen(text));
}

/* The pod that has the session, or that refuses. */
static bool has_session(const struct ask *a)
{
	return a->status < 500 && a->status != 404;
}

static int find_pod(const struct asks *all, bool *ret_is_complete)
{
	*ret_is_complete = true;
	for (size_t i = 0; i < all->count; i++) {
		const struct ask *a = &all->items[i];

		if (a->status && has_session(a))
			return a->pod;
		*ret_is_complete &= a->status == 404;
	}
	return -1;
}

/* A session may be in a pod that is down: to say that there is none would make its client
 * begin anew, without its files. */
static void on_found(void *context)
{
	struct client *c = context;
	bool is_complete;
	const int pod = find_pod(c->asks, &is_complete);

	if (pod >= 0) {
		client_go_to(c, pod);
	} else if (is_complete) {
		client_refuse(c, 404, "No pod has such a runtime");
	} else {
		AUTO_FREE char *text = text_format(
			"A pod does not answer, and may have the session (%s)",
			"hutch route --pod names the pods");
		c->front->unreachable++;
		client_refuse(c, 503, text);
	}
}

/* --- /start ----------------------------------------------------------------------- */

static void on_figures(void *context)
{
	struct client *c = context;
	struct figures all[PODS_MAX] = { 0 };
	const struct ask *refusal = find_refusal(c->asks);
	bool has_some = false;

	if (refusal) {
		client_go_to(c, refusal->pod);
		return;
	}
	for (size_t i = 0; i < c->asks->count; i++) {
		const struct span body = ask_body(&c->asks->items[i]);
		AUTO_FREE char *text = strndup(body.at, body.len);

		if (!text || c->asks->items[i].status != 200)
			continue;
		figures_read(text, &all[i]);
		all[i].coming = c->front->coming[i];
		has_some = true;
	}
	const int pod = figures_choose(all, c->asks->count);
	if (pod >= 0)
		client_go_to(c, pod);
	else
		client_refuse(c, 503, has_some ? "All pods are full" : "No pod answers");
}

static void ask_figures(struct client *c)
{
	static const char target[] = "/metrics";

	ask(c, (struct span){ target, sizeof(target) - 1 }, PHASE_ASK, NULL, on_figures);
}

/* A pod that has the session gets the request, and refuses it; one that is down is left
 * out. */
static void on_looked(void *context)
{
	struct client *c = context;
	bool is_complete;
	const int pod = find_pod(c->asks, &is_complete);

	if (pod >= 0)
		client_go_to(c, pod);
	else
		ask_figures(c);
}

static void begin_start(struct client *c)
{
	if (!c->decision.session) {
		ask_figures(c);
		return;
	}
	if (!client_take_turn(c)) {
		client_enter(c, PHASE_TURN);
		client_watch(c);
		return;
	}
	AUTO_FREE char *target = text_format("/sessions/%s", c->decision.session);
	if (strlen(target) < HTTP_HEAD_MAX / 2)
		ask(c, (struct span){ target, strlen(target) }, PHASE_ASK, has_session,
		    on_looked);
	else
		ask_figures(c); /* the pod refuses so long a name */
}

void client_ask(struct client *c)
{
	const struct span target = { (const char *)buffer_data(&c->asked) +
					     c->head.target_at,
				     c->head.target_len };

	if (c->decision.kind == DECIDE_START)
		begin_start(c);
	else if (c->decision.kind == DECIDE_FIND)
		ask(c, target, PHASE_SEARCH, has_session, on_found);
	else
		ask(c, target, PHASE_ASK, NULL, on_lists);
}
