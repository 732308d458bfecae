/* hutch's own API: what the control socket of a sandbox can do, over HTTP (docs/hutch-serve.md). */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/native.h"
#include "gateway/fields.h"
#include "gateway/routes.h"
#include "policy/json/json.h"

#define CREATE_MAX (1u << 20) /* bytes of a body that makes a sandbox */

static const char openapi_text[] = {
#include "gen/openapi.h"
};

/* --- answers ------------------------------------------------------------------ */

static unsigned status_of(int kind)
{
	switch (kind) {
	case HUTCH_NOT_FOUND:
		return 404;
	case HUTCH_EXISTS:
	case HUTCH_BUSY:
		return 409;
	case HUTCH_INVALID:
		return 422;
	case HUTCH_REFUSED:
		return 403;
	case HUTCH_UNSUPPORTED:
		return 501;
	case HUTCH_TIMEOUT:
		return 504;
	case HUTCH_DISCONNECTED:
		return 410;
	case HUTCH_LIMIT:
		return 503;
	case HUTCH_NO_SPACE:
		return 507;
	default:
		return 500;
	}
}

static void reply(struct visit *v, unsigned status, struct buffer *json)
{
	AUTO_FREE char *text = json_write_end(json);

	http_reply_json(v->request, status, text);
}

static void answer_error(struct visit *v, unsigned status, const struct hutch_error *why)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "error", "{");
	json_write_text(&b, "kind", hutch_kind_name(why->kind));
	json_write_text(&b, "message", why->message);
	json_write_text(&b, "remedy", why->remedy[0] ? why->remedy : NULL);
	json_write_close(&b, "}}");
	reply(v, status, &b);
}

void native_fail(struct visit *v, const struct hutch_error *why)
{
	answer_error(v, status_of(why->kind), why);
}

void native_refuse(struct visit *v, int kind, const char *message)
{
	struct hutch_error e = { .kind = kind };

	(void)stpncpy(e.message, message, sizeof(e.message) - 1);
	native_fail(v, &e);
}

/* Answers a request that has not reached its route. */
static void fail(struct visit *v, unsigned status, const char *message)
{
	struct hutch_error e = { .kind = status == 403	 ? HUTCH_REFUSED
					 : status == 404 ? HUTCH_NOT_FOUND
					 : status == 405 ? HUTCH_UNSUPPORTED
							 : HUTCH_LIMIT };

	(void)stpncpy(e.message, message, sizeof(e.message) - 1);
	answer_error(v, status, &e);
}

static void write_box(struct buffer *json, const struct box *b)
{
	char key[KEYS_BOX];

	box_key(b, key);
	json_write_open(json, NULL, "{");
	json_write_text(json, "id", b->id);
	json_write_text(json, "state", box_state_name(b));
	json_write_text(json, "session", b->session[0] ? b->session : NULL);
	json_write_text(json, "key", key);
	json_write_text(json, "error", b->why.message[0] ? b->why.message : NULL);
	json_write_close(json, "}");
}

static void reply_box(struct visit *v, unsigned status, const struct box *b)
{
	struct buffer json;

	json_write_begin(&json);
	write_box(&json, b);
	reply(v, status, &json);
}

/* --- the body ----------------------------------------------------------------- */

/* Parses the body, an object; no body stands for {}.  NULL: the request is answered. */
static struct json *read_body(struct visit *v, struct json_at *ret)
{
	size_t len;
	const char *text = http_body(v->request, &len);
	struct err e;
	struct json *doc = len > 0 ? json_parse(text, len, &e) : json_parse("{}", 2, &e);

	if (doc) {
		json_root(doc, "body", ret);
		if (json_expect(ret, JSON_OBJECT, &e) == 0)
			return doc;
	}
	json_free(doc);
	native_refuse(v, HUTCH_INVALID, e.text);
	return NULL;
}

static int read_ports(const struct json_at *root, struct order *o, struct err *e)
{
	struct json_at all, item = { 0 };
	uint64_t port;

	if (!json_member(root, "ports", &all))
		return 0;
	if (json_expect(&all, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&all, &item)) {
		if (json_uint(&item, &port, e) < 0)
			return -1;
		if (port < 1 || port > UINT16_MAX || o->port_count == ORDER_PORTS)
			return err_set(e, ERR_USAGE, "ports: up to %d, from 1 to 65535",
				       ORDER_PORTS);
		o->ports[o->port_count++] = (uint16_t)port;
	}
	return 0;
}

static int read_text(const struct json_at *root, const char *key, char **ret,
		     struct err *e)
{
	struct json_at at;
	const char *text = "";

	if (json_member(root, key, &at) && json_string(&at, &text, e) < 0)
		return -1;
	*ret = text_copy(text);
	return 0;
}

static int read_create(const struct json_at *root, struct order *o, struct err *e)
{
	static const char *const keys[] = { "image",   "env",	"workdir", "plugins",
					    "command", "ports", "factor",  NULL };
	struct json_at command, factor;

	if (json_only(root, keys, e) < 0 || read_text(root, "image", &o->image, e) < 0 ||
	    read_text(root, "workdir", &o->workdir, e) < 0 ||
	    fields_variables(root, "env", ORDER_WORDS, &o->env, e) < 0 ||
	    fields_words(root, "plugins", ORDER_WORDS, &o->plugins, e) < 0 ||
	    fields_words(root, "command", ORDER_WORDS, &o->argv, e) < 0)
		return -1;
	o->is_main = json_member(root, "command", &command);
	if (json_member(root, "factor", &factor) &&
	    json_number(&factor, &o->factor, e) < 0)
		return -1;
	if (!(o->factor >= 0.001 && o->factor <= ORDER_FACTOR))
		return err_set(e, ERR_USAGE, "factor: from 0.001 to %d", ORDER_FACTOR);
	return read_ports(root, o, e);
}

/* --- sandboxes ---------------------------------------------------------------- */

static void list_boxes(struct visit *v)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_open(&json, "sandboxes", "[");
	for (const struct box *b = v->gateway->boxes.first; b; b = b->next)
		if (!b->is_removed)
			write_box(&json, b);
	json_write_close(&json, "]}");
	reply(v, 200, &json);
}

/* A sandbox that could not be made is not kept: the client has the reason. */
static void on_created(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;

	if (!why) {
		reply_box(v, 201, b);
		return;
	}
	native_fail(v, why);
	box_remove(b, NULL, NULL);
}

static void create(struct visit *v)
{
	struct order o = { .factor = 1 };
	struct json_at root;
	struct err e;
	AUTO_JSON struct json *doc = read_body(v, &root);
	struct box *b = NULL;

	if (!doc)
		return;
	if (read_create(&root, &o, &e) < 0)
		native_refuse(v, HUTCH_INVALID, e.text);
	else if (!(b = box_create(&v->gateway->boxes, BOX_PLAIN, "", &o)))
		native_refuse(v, HUTCH_LIMIT, "there are too many sandboxes");
	else
		box_use(b, v, on_created);
	order_done(&o);
}

static void get(struct visit *v)
{
	reply_box(v, 200, v->box);
}

static void on_removed(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;

	(void)b;
	if (why)
		native_fail(v, why);
	else
		http_reply_json(v->request, 200, "{}");
}

static void remove_box(struct visit *v)
{
	box_remove(v->box, v, on_removed);
}

/* --- calls -------------------------------------------------------------------- */

static const struct native_method *find_method(const char *name)
{
	for (const struct native_method *m = native_methods; m->name; m++)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

/* The server's own connection to a sandbox changes its state, too. */
static void note_state(struct box *b, const char *method)
{
	if (!strcmp(method, "pause"))
		b->state = BOX_PAUSED;
	else if (!strcmp(method, "unpause"))
		b->state = BOX_RUNNING;
}

static void on_called(void *context, const struct hutch_message *m)
{
	struct visit *v = context;

	if (m->error.kind != HUTCH_OK) {
		native_fail(v, &m->error);
		return;
	}
	note_state(v->box, v->words[1]);
	http_reply(v->request, 200, "application/json", m->json, m->json_len);
}

static void do_call(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	const struct hutch_request r = { .size = sizeof(r),
					 .method = v->words[1],
					 .params = v->state };
	struct hutch_error e;

	if (why) {
		native_fail(v, why);
		return;
	}
	void *tag = box_tag(b, v, on_called);
	if (hutch_call(b->handle, &r, tag, &e) >= 0)
		return;
	box_untag(tag);
	native_fail(v, &e);
}

static bool wants_stream(const struct visit *v)
{
	const char *accept = http_header(v->request, "Accept");

	return accept && strstr(accept, "text/event-stream");
}

static bool is_set(const struct json_at *root, const char *key)
{
	struct json_at at;
	bool value = false;

	return json_member(root, key, &at) && json_bool(&at, &value, NULL) == 0 && value;
}

/* Returns a reason why the method cannot be called in this form; NULL: it can. */
static const char *check_form(const struct native_method *m, bool is_stream,
			      const struct json_at *params)
{
	if (m->form == NATIVE_STREAM && !is_stream)
		return "the method answers with a stream: send Accept: text/event-stream";
	if (m->form == NATIVE_PLAIN && is_stream)
		return "the method has one answer: send no Accept: text/event-stream";
	if (!is_stream && (is_set(params, "stream") || is_set(params, "confirm")))
		return "`stream` and `confirm` need a stream: send Accept: text/event-stream";
	return NULL;
}

/* Calls a method with the body as its params. */
static void call_method(struct visit *v, const struct native_method *m, bool is_stream)
{
	struct json_at root;
	size_t len;
	const char *text = http_body(v->request, &len);
	AUTO_JSON struct json *doc = read_body(v, &root);

	if (!doc)
		return;
	const char *why = check_form(m, is_stream, &root);
	if (why) {
		native_refuse(v, HUTCH_INVALID, why);
		return;
	}
	v->state = text_copy(len > 0 ? text : "{}");
	if (is_stream)
		native_stream(v, m);
	else if (m->wakes)
		box_use(v->box, v, do_call);
	else
		box_reach(v->box, v, do_call);
}

static void call(struct visit *v)
{
	const struct native_method *m = find_method(v->words[1]);

	if (!m)
		native_refuse(v, HUTCH_NOT_FOUND,
			      "the control socket has no such method");
	else if (m->refusal)
		native_refuse(v, HUTCH_UNSUPPORTED, m->refusal);
	else if (m->is_operators && !visit_is_operators(v))
		native_refuse(
			v, HUTCH_REFUSED,
			"the method changes the sandbox's limits or rules, which takes the "
			"server's key");
	else
		call_method(v, m, wants_stream(v));
}

static void exec(struct visit *v)
{
	call_method(v, find_method("exec.start"), true);
}

/* Gives the number of the first event that the client wants, as the digits of a number. */
static char *first_event(const struct visit *v)
{
	const char *last = http_header(v->request, "Last-Event-ID");
	const char *since = http_query(v->request, "since");
	const char *text = last ? last : since ? since : "0";
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n > (1ull << 53) - 1)
		return NULL;
	return text_format("%llu", last ? n + 1 : n);
}

static void events(struct visit *v)
{
	AUTO_FREE char *since = first_event(v);
	const char *asks = http_query(v->request, "asks");

	if (!since) {
		native_refuse(v, HUTCH_INVALID, "since and Last-Event-ID are numbers");
		return;
	}
	v->state = text_format("{\"since\":%s,\"asks\":%s}", since,
			       asks && !strcmp(asks, "true") ? "true" : "false");
	native_stream(v, find_method("events.subscribe"));
}

/* --- the server --------------------------------------------------------------- */

static void metrics(struct visit *v)
{
	const struct gateway *g = v->gateway;
	size_t states[BOX_ENDED + 1] = { 0 };

	for (const struct box *b = g->boxes.first; b; b = b->next)
		states[b->state]++;
	const uint64_t memory = free_memory_bytes(&g->memory);
	const uint64_t most = g->serve->most_sandboxes;
	AUTO_FREE char *text = text_format(
		"# TYPE hutch_requests_total counter\nhutch_requests_total %llu\n"
		"# TYPE hutch_requests_refused_total counter\nhutch_requests_refused_total %llu\n"
		"# TYPE hutch_sandboxes gauge\n"
		"hutch_sandboxes{state=\"starting\"} %zu\nhutch_sandboxes{state=\"running\"} %zu\n"
		"hutch_sandboxes{state=\"paused\"} %zu\nhutch_sandboxes{state=\"error\"} %zu\n"
		"hutch_sandboxes{state=\"stopped\"} %zu\n"
		"# TYPE hutch_sandboxes_alive gauge\nhutch_sandboxes_alive %zu\n"
		"# TYPE hutch_sandboxes_max gauge\nhutch_sandboxes_max %llu\n"
		"# TYPE hutch_memory_free_bytes gauge\nhutch_memory_free_bytes %llu\n"
		"# TYPE hutch_uptime_seconds gauge\nhutch_uptime_seconds %.3f\n",
		(unsigned long long)g->requests, (unsigned long long)g->refused,
		states[BOX_STARTING], states[BOX_RUNNING], states[BOX_PAUSED],
		states[BOX_FAILED], states[BOX_ENDED], boxes_alive(&g->boxes),
		(unsigned long long)(most ? most : BOXES_MAX),
		(unsigned long long)(memory == UINT64_MAX ? 0 : memory),
		(double)(clock_ms() - g->started_ms) / 1000.0);

	http_reply(v->request, 200, "text/plain; version=0.0.4", text, strlen(text));
}

static void health(struct visit *v)
{
	http_reply_json(v->request, 200, "{\"status\":\"ok\"}");
}

static void openapi(struct visit *v)
{
	http_reply(v->request, 200, "application/json", openapi_text,
		   sizeof(openapi_text) - 1);
}

static const struct route list[] = {
	{ .method = "GET",
	  .path = "/metrics",
	  .access = ACCESS_OPERATOR,
	  .handle = metrics },
	{ .method = "GET", .path = "/health", .access = ACCESS_OPEN, .handle = health },
	{ .method = "GET",
	  .path = "/openapi.json",
	  .access = ACCESS_OPERATOR,
	  .handle = openapi },
	{ .method = "GET",
	  .path = "/v1/sandboxes",
	  .access = ACCESS_OPERATOR,
	  .handle = list_boxes },
	{ .method = "POST",
	  .path = "/v1/sandboxes",
	  .access = ACCESS_OPERATOR,
	  .handle = create,
	  .body_max = CREATE_MAX },
	{ .method = "GET",
	  .path = "/v1/sandboxes/*",
	  .access = ACCESS_BOX,
	  .handle = get },
	{ .method = "DELETE",
	  .path = "/v1/sandboxes/*",
	  .access = ACCESS_BOX,
	  .handle = remove_box },
	{ .method = "GET",
	  .path = "/v1/sandboxes/*/events",
	  .access = ACCESS_BOX,
	  .handle = events,
	  .closed = native_closed },
	{ .method = "POST",
	  .path = "/v1/sandboxes/*/exec",
	  .access = ACCESS_BOX,
	  .handle = exec,
	  .body_max = GATEWAY_BODY_MAX,
	  .closed = native_closed },
	{ .method = "POST",
	  .path = "/v1/sandboxes/*/*",
	  .access = ACCESS_BOX,
	  .handle = call,
	  .body_max = GATEWAY_BODY_MAX,
	  .closed = native_closed },
};

const struct routes native_routes = { .list = list,
				      .count = ARRAY_LEN(list),
				      .fail = fail };
