#include "gateway/route/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "gateway/route/asks.h"
#include "gateway/route/dials.h"
#include "gateway/route/front.h"

/* --- its life ------------------------------------------------------------------- */

void client_enter(struct client *c, enum phase p)
{
	c->phase = p;
	c->began = clock_ms();
}

void client_close_pod(struct client *c)
{
	if (c->out.fd >= 0)
		loop_unwatch(&c->front->loop, &c->out);
	own_close(&c->out.fd);
	c->out_events = 0;
	if (c->is_coming)
		c->front->coming[c->decision.pod]--;
	c->is_coming = false;
}

void client_end(struct client *c)
{
	struct front *f = c->front;

	client_end_turn(c);
	client_close_pod(c);
	asks_end(c->asks);
	dials_cancel(c->dial);
	loop_stop(&f->loop, &c->again);
	loop_unwatch(&f->loop, &c->in);
	own_close(&c->in.fd);
	buffer_done(&c->asked);
	buffer_done(&c->up);
	buffer_done(&c->down);
	decision_done(&c->decision);
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	f->count--;
	free(c);
	front_freed(f);
}

/* Watches a descriptor, or not at all: epoll(7) reports the end of one that is watched
 * for nothing, again and again. */
static void watch(struct client *c, struct watch *w, uint32_t *before, uint32_t events)
{
	if (w->fd < 0 || *before == events)
		return;
	*before = events;
	if (events)
		(void)loop_watch(&c->front->loop, w, events, NULL);
	else
		loop_unwatch(&c->front->loop, w);
}

void client_watch(struct client *c)
{
	const bool has_up = buffer_len(&c->up) > 0, has_down = buffer_len(&c->down) > 0;
	const bool reads = c->phase == PHASE_HEAD || c->phase == PHASE_BODY ||
			   c->phase == PHASE_LINGER ||
			   (c->phase == PHASE_PASS && !c->up_done && !has_up);
	uint32_t in = reads ? EPOLLIN : 0;

	if (c->phase == PHASE_TURN ||
	    (c->phase == PHASE_PASS && c->up_done && !c->in_closed))
		in = EPOLLRDHUP;
	watch(c, &c->in, &c->in_events, in | (has_down ? EPOLLOUT : 0));
	watch(c, &c->out, &c->out_events,
	      (has_up ? EPOLLOUT : 0) | (has_down ? 0 : EPOLLIN));
}

/* --- its head --------------------------------------------------------------------- */

static void reply_metrics(struct client *c)
{
	AUTO_FREE char *text = front_metrics(c->front);

	client_reply(c, 200, "text/plain; version=0.0.4", "", text, strlen(text));
}

static void act(struct client *c)
{
	const struct decision *d = &c->decision;
	static const char fine[] = "{\"status\":\"ok\"}";
	struct front *f = c->front;

	switch (d->kind) {
	case DECIDE_ANSWER:
		if (d->text)
			client_refuse(c, d->status, d->text);
		else
			client_reply(c, d->status, "application/json", "", fine,
				     sizeof(fine) - 1);
		return;
	case DECIDE_OWN:
		reply_metrics(c);
		return;
	case DECIDE_POD:
		client_dial(c);
		return;
	case DECIDE_ANY:
		client_go_to(c, (int)(f->any++ % f->pods->count));
		return;
	case DECIDE_FIND:
	case DECIDE_MERGE:
	case DECIDE_START:
		client_ask(c);
		return;
	case DECIDE_BODY:
	case DECISION_KINDS:
		break;
	}
}

/* Decides once the head is there, and again once the body is. */
static void decide_now(struct client *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const char *bytes = (const char *)buffer_data(&c->asked);
	const size_t have = buffer_len(&c->asked) - c->head.len;
	const size_t want = c->head.framing == HTTP_LENGTH ? (size_t)c->head.length : 0;
	struct request r;

	request_init(&r, &c->head, (const uint8_t *)bytes);
	if (c->phase == PHASE_HEAD) {
		c->front->requests++;
		decide(c->front->pods, &r, NULL, 0, c->is_inside, &c->decision);
		c->is_chosen = true;
		if (c->decision.kind != DECIDE_BODY) {
			act(c);
			return;
		}
		client_enter(c, PHASE_BODY);
		if (request_field(&r, "expect").at && have < want)
			(void)!write(c->in.fd, go_on,
				     sizeof(go_on) - 1); /* the socket is empty */
	}
	if (have >= want) {
		decide(c->front->pods, &r, bytes + c->head.len, want, c->is_inside,
		       &c->decision);
		act(c);
	} else {
		client_watch(c);
	}
}

static void on_asking(struct client *c)
{
	static const struct http_expect expect = { .is_first = true };
	struct front *f = c->front;
	const ssize_t n = read(c->in.fd, f->scratch, HTTP_HEAD_MAX);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || !buffer_append(&c->asked, f->scratch, (size_t)n)) {
		client_end(c);
		return;
	}
	if (c->phase == PHASE_HEAD) {
		const enum http_verdict v = http_head_parse(
			&c->head, buffer_data(&c->asked), buffer_len(&c->asked), &expect);
		if (v == HTTP_NEED_MORE)
			return;
		if (v == HTTP_REFUSED) {
			client_refuse(c, 400, http_why_text(c->head.why));
			return;
		}
	}
	decide_now(c);
}

static void on_client(void *context, uint32_t events)
{
	struct client *c = context;

	switch (c->phase) {
	case PHASE_HEAD:
	case PHASE_BODY:
		on_asking(c);
		return;
	case PHASE_PASS:
		client_pass(c, events);
		return;
	case PHASE_FLUSH:
		client_finish(c);
		return;
	case PHASE_LINGER:
		if (read(c->in.fd, c->front->scratch, FRONT_SCRATCH) <= 0 &&
		    errno != EAGAIN)
			client_end(c);
		return;
	case PHASE_TURN:
		client_end(c); /* it is gone: nothing is to be started for it */
		return;
	case PHASE_ASK:
	case PHASE_SEARCH:
	case PHASE_DIAL:
	case PHASES:
		break;
	}
}

/* --- all -------------------------------------------------------------------------- */

void client_begin(struct front *f, int fd, bool is_inside)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	*c = (struct client){ .front = f,
			      .next = f->clients,
			      .back = &f->clients,
			      .is_inside = is_inside,
			      .in = { fd, c, on_client },
			      .out = { .fd = -1 } };
	if (c->next)
		c->next->back = &c->next;
	f->clients = c;
	f->count++;
	buffer_init(&c->asked, HTTP_HEAD_MAX + DECIDE_START_MAX + HTTP_HEAD_MAX);
	buffer_init(&c->up, 2 * (HTTP_HEAD_MAX + DECIDE_START_MAX));
	buffer_init(&c->down, SIZE_MAX);
	client_enter(c, PHASE_HEAD);
	client_watch(c);
}

static void expire(struct client *c)
{
	switch (c->phase) {
	case PHASE_HEAD:
	case PHASE_BODY:
		client_refuse(c, 408, "The request did not come in time");
		return;
	case PHASE_ASK:
	case PHASE_SEARCH:
		c->asks->done(c); /* with the answers that there are */
		return;
	case PHASE_DIAL:
		dials_cancel(c->dial);
		c->dial = NULL;
		loop_stop(&c->front->loop, &c->again);
		client_refuse_pod(c);
		return;
	case PHASE_TURN:
		client_refuse(c, 503, "Another request starts this session still");
		return;
	case PHASE_PASS:
	case PHASE_FLUSH:
	case PHASE_LINGER:
	case PHASES:
		client_end(c);
	}
}

void clients_expire(struct front *f, int64_t now)
{
	for (struct client *c = f->clients, *next; c; c = next) {
		next = c->next; /* an end of `c` ends no other */
		if (phase_is_over(c->phase, c->began, f->wait_ms, now))
			expire(c);
	}
}

void clients_end(struct front *f)
{
	while (f->clients)
		client_end(f->clients);
}
