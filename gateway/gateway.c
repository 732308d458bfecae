#include "gateway/gateway.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"
#include "gateway/guard.h"
#include "gateway/native.h"
#include "gateway/order.h"
#include "gateway/routes.h"

/* Requests of one sandbox's clients at once, also of clients that have gone: those of one sandbox
 * could take all connections. */
#define VISITS_MAX 200
#define STOP_MS	   10000 /* how long a stop waits for requests under way */

static const struct routes *const tables[] = { &envd_routes, &action_server_routes, &mcp_routes,
					       &runtime_routes, &e2b_routes,
					       &native_routes };

const struct routes *const *gateway_tables(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(tables);
	return tables;
}

/* --- answers ------------------------------------------------------------------ */

void visit_reply(struct visit *v, struct buffer *json)
{
	AUTO_FREE char *text = json_write_end(json);

	http_reply_json(v->request, 200, text);
}

void visit_fail(struct visit *v, unsigned status, const char *detail)
{
	struct buffer b;

	if (status == 503)
		http_add(v->request, "Retry-After", "2");
	if (v->table && v->table->fail) {
		v->table->fail(v, status, detail);
		return;
	}
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "detail", detail);
	json_write_close(&b, "}");
	AUTO_FREE char *text = json_write_end(&b);
	http_reply_json(v->request, status, text);
}

void visit_fail_box(struct visit *v, const struct hutch_error *why)
{
	switch (why->kind) {
	case HUTCH_DISCONNECTED:
	case HUTCH_NOT_FOUND:
		visit_fail(v, 404, why->message);
		return;
	case HUTCH_BUSY:
	case HUTCH_LIMIT:
		visit_fail(v, 503, why->message);
		return;
	case HUTCH_TIMEOUT:
		visit_fail(v, 504, why->message);
		return;
	default:
		visit_fail(v, 500, why->message);
	}
}

/* --- routes ------------------------------------------------------------------- */

static void clear_words(struct visit *v)
{
	for (size_t i = 0; i < v->word_count; i++)
		free(v->words[i]);
	v->word_count = 0;
}

static size_t component(const char *path)
{
	return strcspn(path, "/");
}

/* Compares a path with a route's, and keeps the components that stand for each "*". */
static bool fits(const char *pattern, const char *path, struct visit *v)
{
	clear_words(v);
	while (*pattern == '/' && *path == '/') {
		const size_t want = component(++pattern), have = component(++path);

		if (want == 1 && *pattern == '*') {
			if (have == 0 || v->word_count == VISIT_WORDS)
				return false;
			v->words[v->word_count++] = strndup(path, have);
		} else if (want != have || memcmp(pattern, path, want) != 0) {
			return false;
		}
		pattern += want;
		path += have;
	}
	return *pattern == '\0' && *path == '\0';
}

/* Returns the route, or NULL with the status that the request is to be answered with. */
static const struct route *find_route(struct visit *v, unsigned *ret_status)
{
	const char *method = http_method(v->request), *path = http_path(v->request);

	*ret_status = 404;
	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		if (tables[t]->claims && !tables[t]->claims(v))
			continue;
		for (size_t i = 0; i < tables[t]->count; i++) {
			const struct route *r = &tables[t]->list[i];

			if (!fits(r->path, path, v))
				continue;
			v->table = tables[t];
			if (!strcmp(r->method, method))
				return r;
			*ret_status = 405;
		}
	}
	clear_words(v);
	return NULL;
}

/* --- keys --------------------------------------------------------------------- */

static const char *bearer(const struct http_request *r)
{
	const char *value = http_header(r, "Authorization");

	return value && !strncmp(value, "Bearer ", 7) ? value + 7 : NULL;
}

bool visit_is_operators(const struct visit *v)
{
	const char *key = v->gateway->serve->key;

	return keys_equal(http_header(v->request, "X-API-Key"), key) ||
	       keys_equal(bearer(v->request), key);
}

static bool has_box_key(const struct visit *v)
{
	char key[KEYS_BOX];

	if (!v->box)
		return false;
	box_key(v->box, key);
	return keys_equal(http_header(v->request, "X-Session-API-Key"), key) ||
	       keys_equal(bearer(v->request), key);
}

static bool may_pass(struct visit *v)
{
	const struct route *r = v->route;

	if (r->access == ACCESS_OPEN || visit_is_operators(v))
		return true;
	if (r->access == ACCESS_TABLE)
		return v->table->may_pass(v);
	return r->access == ACCESS_BOX && has_box_key(v);
}

/* --- a request ---------------------------------------------------------------- */

static bool check(struct visit *v)
{
	const struct serve *s = v->gateway->serve;
	unsigned status;

	if (!guard_allows_host(s, http_header(v->request, "Host"))) {
		visit_fail(v, 403, "This Host is not one of the server's: see --host");
		return false;
	}
	if (!guard_allows_origin(s, http_header(v->request, "Origin"))) {
		visit_fail(v, 403, "This Origin is not allowed: see --origin");
		return false;
	}
	v->route = find_route(v, &status);
	if (v->route && v->word_count > 0 && !v->table->claims)
		v->box = box_by_id(&v->gateway->boxes, v->words[0], strlen(v->words[0]));
	if (v->box)
		box_hold(v->box); /* its body may take longer than the sandbox lives */
	/* A path that does not exist is told to those alone that have a key. */
	if (v->route ? !may_pass(v) : !visit_is_operators(v)) {
		visit_fail(v, 403, "Invalid API Key");
		return false;
	}
	if (!v->route) {
		visit_fail(v, status, status == 405 ? "Method Not Allowed" : "Not Found");
		return false;
	}
	if (v->route->access == ACCESS_BOX && !v->box) {
		visit_fail(v, 404, "The server has no such runtime");
		return false;
	}
	if (v->box && v->box->holds > VISITS_MAX && !visit_is_operators(v)) {
		visit_fail(v, 503, "The sandbox has too many requests under way");
		return false;
	}
	if (v->gateway->is_stopping) {
		visit_fail(v, 503, "The server is being stopped");
		return false;
	}
	return true;
}

static void on_head(void *context, struct http_request *r)
{
	struct gateway *g = context;
	struct visit *v = calloc(1, sizeof(*v));

	if (!v)
		return;
	*v = (struct visit){ .gateway = g, .request = r, .began_ms = g->loop.now };
	http_set_user(r, v);
	g->requests++;
	if (!check(v)) {
		g->refused++;
		return;
	}
	if (v->route->form_max > 0)
		http_take_parts(r, v->route->form_max);
	else if (v->route->body_max > 0)
		http_take_body(r, v->route->body_max);
	if (v->route->begin)
		v->route->begin(v);
}

static void on_part(void *context, struct http_request *r, const struct http_part *p)
{
	struct visit *v = http_user(r);

	(void)context;
	if (v && v->route && v->route->part)
		v->route->part(v, p);
}

static void on_complete(void *context, struct http_request *r)
{
	struct visit *v = http_user(r);

	(void)context;
	if (v)
		v->route->handle(v);
	else
		http_reply(r, 503, "text/plain", "", 0);
}

/* `v`: NULL where the head was refused. */
static void log_request(struct gateway *g, const struct http_request *r,
			const struct visit *v)
{
	const struct request_entry x = { .method = http_method(r),
					 .path = http_path(r),
					 .sandbox = v && v->box ? v->box->id : NULL,
					 .status = http_status(r),
					 .duration_ms = v ? g->loop.now - v->began_ms
							  : 0 };

	request_log_add(&g->log, &x);
}

static void on_closed(void *context, struct http_request *r)
{
	struct visit *v = http_user(r);

	log_request(context, r, v);
	if (!v)
		return;
	if (v->route && v->route->closed)
		v->route->closed(v);
	if (v->box)
		box_release(v->box);
	clear_words(v);
	free(v);
}

/* --- the server --------------------------------------------------------------- */

static bool is_quiet(const struct gateway *g)
{
	unsigned count = 0;

	for (size_t i = 0; i < ARRAY_LEN(g->servers); i++)
		count += g->servers[i] ? http_count(g->servers[i]) : 0;
	return count == 0;
}

static void on_patience(void *context)
{
	struct gateway *g = context;

	g->is_over = true;
}

static void on_told(void *context)
{
	struct gateway *g = context;

	g->is_stopping = true;
	loop_start(&g->loop, &g->patience, STOP_MS);
	for (size_t i = 0; i < ARRAY_LEN(g->servers); i++)
		if (g->servers[i])
			http_quiesce(g->servers[i]);
	native_stop(g);
}

static void on_broken(void *context)
{
	struct gateway *g = context;

	g->is_over = true;
}

static void on_found(void *context)
{
	size_t *waiting = context;

	--*waiting;
}

static int wait_for(struct gateway *g, const size_t *waiting, struct err *e)
{
	while (*waiting > 0 && !g->is_over)
		if (loop_step(&g->loop, -1, e) < 0)
			return -1;
	return 0;
}

/* Finds the sandboxes of an earlier run; requests wait in the kernel's queue until then. */
static int find_boxes(struct gateway *g, struct err *e)
{
	size_t waiting = 1;

	boxes_find(&g->boxes, &waiting, on_found);
	if (wait_for(g, &waiting, e) < 0)
		return -1;
	e2b_adopt(&g->boxes, &waiting);
	return wait_for(g, &waiting, e);
}

static int start(struct gateway *g, const int fds[2], const struct http_tls *tls,
		 struct err *e)
{
	const struct http_events events = { .context = g,
					    .bodies = &g->bodies,
					    .head = on_head,
					    .part = on_part,
					    .complete = on_complete,
					    .closed = on_closed };

	for (size_t i = 0; i < ARRAY_LEN(g->servers); i++) {
		if (fds[i] < 0)
			continue;
		g->servers[i] = http_new(&g->loop, fds[i], g->serve->connections,
					 i == 0 ? tls : NULL, &events, e);
		if (!g->servers[i])
			return -1;
	}
	return 0;
}

int gateway_run(const struct serve *s, int link, const int fds[2],
		const struct http_tls *tls, const struct free_memory *memory,
		struct err *e)
{
	struct gateway g = { .serve = s,
			     .started_ms = clock_ms(),
			     .bodies = { .max = s->body_memory },
			     .memory = *memory };

	if (loop_init(&g.loop, e) < 0 || spawn_link_init(&g.link, &g.loop, link, e) < 0)
		return -1;
	g.link.context = &g;
	g.link.told = on_told;
	g.link.broken = on_broken;
	g.patience = (struct timer){ .context = &g, .expired = on_patience };
	boxes_init(&g.boxes, s, &g.loop, &g.link);
	if (find_boxes(&g, e) < 0 || start(&g, fds, tls, e) < 0)
		return -1;
	while (!g.is_over && !(g.is_stopping && is_quiet(&g)))
		if (loop_step(&g.loop, -1, e) < 0)
			return -1;
	/* The process ends now, and all that it has with it: a request that is still under
	 * way must not be answered any more. */
	return 0;
}
