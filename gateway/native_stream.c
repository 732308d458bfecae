/* Streams of server-sent events (HTML standard, section 9.2): a call, the notifications that
 * come with it, and its end.
 *
 * Each stream has a connection to the sandbox of its own.  So a client that reads slowly makes
 * its own process wait, as the control socket promises, and no other; and when the client goes,
 * the connection is closed and the sandbox ends the process. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/native.h"
#include "gateway/order.h"
#include "gateway/routes.h"
#include "policy/json/json.h"

/* The tags of a stream's two calls. */
#define TAG_CALL ((void *)1)
#define TAG_WAIT ((void *)2)

struct native_stream {
	struct native_stream *next;
	struct visit *visit;
	const struct native_method *method;
	char *params;	      /* owned */
	struct hutch *handle; /* owned; NULL: not connected */
	struct watch watch;
	struct box_stream
		*hold; /* keeps the sandbox from being paused; NULL: it may be */
	bool is_streaming, is_watched, is_over;
};

/* --- writing ------------------------------------------------------------------ */

static void on_drained(void *context, struct http_request *r);

static void watch(struct native_stream *s, bool is_wanted)
{
	struct loop *l = &s->visit->gateway->loop;

	if (is_wanted == s->is_watched || !s->handle)
		return;
	s->is_watched = is_wanted;
	if (!is_wanted)
		loop_unwatch(l, &s->watch);
	else if (loop_watch(l, &s->watch, EPOLLIN, NULL) < 0)
		http_abort(s->visit->request);
}

/* Writes one event; `json` is one line.  Where the client does not keep up, nothing more is read
 * from the sandbox until it does. */
static void write_event(struct native_stream *s, const char *event, const char *json)
{
	struct http_request *r = s->visit->request;
	int64_t number;

	if (!s->is_streaming) {
		s->is_streaming = true;
		http_add(r, "Cache-Control", "no-store");
		http_stream(r, 200, "text/event-stream", on_drained);
	}
	const bool is_kept = !strcmp(event, "event") &&
			     hutch_json_integer(json, "n", &number) > 0;
	AUTO_FREE char *id = is_kept ? text_format("id: %lld\n", (long long)number)
				     : NULL;
	AUTO_FREE char *head = text_format("event: %s\n%sdata: ", event, id ? id : "");
	(void)http_write(r, head, strlen(head));
	(void)http_write(r, json, strlen(json));
	if (!http_write(r, "\n\n", 2))
		watch(s, false);
}

static void finish(struct native_stream *s)
{
	s->is_over = true;
	watch(s, false);
	if (s->is_streaming)
		http_end(s->visit->request);
}

static void fail(struct native_stream *s, const struct hutch_error *why)
{
	if (!s->is_streaming) {
		finish(s);
		native_fail(s->visit, why);
		return;
	}
	struct buffer b;
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "kind", hutch_kind_name(why->kind));
	json_write_text(&b, "message", why->message);
	json_write_text(&b, "remedy", why->remedy[0] ? why->remedy : NULL);
	json_write_close(&b, "}");
	AUTO_FREE char *json = json_write_end(&b);
	write_event(s, "error", json);
	finish(s);
}

/* --- messages ----------------------------------------------------------------- */

static void wait_for_end(struct native_stream *s, const char *result)
{
	struct hutch_error e;
	int64_t process = 0;

	(void)hutch_json_integer(result, "process",
				 &process); /* 0 is answered not_found */
	if (hutch_exec_wait(s->handle, process, TAG_WAIT, &e) < 0)
		fail(s, &e);
}

static void on_answer(struct native_stream *s, const struct hutch_message *m)
{
	const bool is_first = m->tag == TAG_CALL;

	if (m->error.kind != HUTCH_OK) {
		fail(s, &m->error);
		return;
	}
	write_event(s, is_first ? "result" : "exit", m->json);
	if (is_first && s->method->has_process)
		wait_for_end(s, m->json);
	else if (!s->method->is_endless)
		finish(s);
}

/* Events have their name in `event`; the questions of rules that ask and the lines of the
 * supervisor's log have none. */
static const char *name_of(const struct native_stream *s, const struct hutch_message *m)
{
	if (m->type == HUTCH_OUTPUT)
		return "output";
	AUTO_FREE char *name = hutch_json_string(m->json, "event");
	return name ? "event" : !strcmp(s->method->name, "logs") ? "log" : "ask";
}

/* The event about the end of a process says what the answer to exec.wait says. */
static void on_message(struct native_stream *s, const struct hutch_message *m)
{
	if (m->type == HUTCH_ENDED)
		fail(s, &m->error);
	else if (m->type == HUTCH_ANSWER)
		on_answer(s, m);
	else if (m->type == HUTCH_OUTPUT ||
		 (m->type == HUTCH_EVENT && !s->method->has_process))
		write_event(s, name_of(s, m), m->json);
}

static void on_handle(void *context, uint32_t events)
{
	struct native_stream *s = context;
	struct hutch_message *m = NULL;

	(void)events;
	while (s->is_watched && hutch_next(s->handle, 0, &m, NULL) > 0) {
		on_message(s, m);
		hutch_message_free(m);
	}
}

static void on_drained(void *context, struct http_request *r)
{
	struct visit *v = http_user(r);
	struct native_stream *s = v->state;

	(void)context;
	if (!s->is_over)
		watch(s, true);
}

/* --- opening ------------------------------------------------------------------ */

static int call(struct native_stream *s, struct hutch_error *e)
{
	const struct hutch_request r = { .size = sizeof(r),
					 .method = s->method->name,
					 .params = s->params };

	s->watch = (struct watch){ hutch_fd(s->handle, e), s, on_handle };
	if (s->watch.fd < 0 || hutch_call(s->handle, &r, TAG_CALL, e) < 0)
		return -1;
	watch(s, true);
	return 0;
}

static void on_connection(void *context, struct spawn_answer *a)
{
	struct native_stream *s = context;
	struct hutch_error e = { .kind = HUTCH_SYSTEM,
				 .message = "there is no connection" };

	if (a->kind) {
		e.kind = spawn_answer_kind(a);
		(void)stpncpy(e.message, a->message, sizeof(e.message) - 1);
	} else if (a->fd >= 0 &&
		   hutch_adopt(s->visit->words[0], a->fd, NULL, &s->handle, &e) == 0) {
		a->fd = -1;
		if (call(s, &e) == 0)
			return;
	}
	fail(s, &e);
}

/* The end of the sandbox comes by the stream's own connection. */
static void on_held(void *context, const struct hutch_message *m)
{
	(void)context;
	(void)m;
}

static void on_usable(void *context, struct box *b, const struct hutch_error *why)
{
	struct native_stream *s = context;
	struct order o = { .kind = ORDER_ATTACH, .name = text_copy(s->visit->words[0]) };

	if (why) {
		fail(s, why);
	} else {
		if (s->method->wakes)
			s->hold = box_follow(b, -1, s, on_held);
		spawn_link_ask(&s->visit->gateway->link, &o, s, on_connection);
	}
	order_done(&o);
}

void native_stream(struct visit *v, const struct native_method *m)
{
	struct native_stream *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	*s = (struct native_stream){ .visit = v, .method = m, .params = v->state };
	s->next = v->gateway->streams;
	v->gateway->streams = s;
	v->state = s;
	if (m->wakes)
		box_use(v->box, s, on_usable);
	else
		box_reach(v->box, s, on_usable);
}

/* --- its end ------------------------------------------------------------------ */

static bool is_stream(const struct gateway *g, const void *state)
{
	for (const struct native_stream *s = g->streams; s; s = s->next)
		if (s == state)
			return true;
	return false;
}

static void stream_free(struct native_stream *s)
{
	struct native_stream **at = &s->visit->gateway->streams;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	watch(s, false);
	if (s->hold)
		box_unfollow(s->visit->box, s->hold);
	hutch_close(s->handle); /* the sandbox ends the process that it has started */
	free(s->params);
	free(s);
}

void native_closed(struct visit *v)
{
	if (is_stream(v->gateway, v->state))
		stream_free(v->state);
	else
		free(v->state);
}

void native_stop(struct gateway *g)
{
	for (struct native_stream *s = g->streams; s; s = s->next)
		if (s->method->is_endless && s->is_streaming && !s->is_over)
			finish(s);
}
