#include "gateway/route/decide.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/box_id.h"
#include "gateway/route/pods.h"
#include "policy/json/json.h"

struct choice {
	const struct pods *pods;
	const struct request *request;
	const char *body; /* NULL: it is not there yet */
	size_t len;
	bool is_inside;
	struct decision *d;
};

static void answer(struct decision *d, unsigned status, const char *text)
{
	d->kind = DECIDE_ANSWER;
	d->status = status;
	d->text = text;
}

static bool is_method(const struct choice *c, const char *method)
{
	return !strcmp(c->request->head->method, method);
}

/* --- ids ---------------------------------------------------------------------- */

static void go_to(const struct choice *c, const char *id, size_t len)
{
	const size_t pod = box_id_pod(id, len);

	c->d->pod = pod ? pods_find(c->pods, id, pod) : -1;
	if (c->d->pod < 0) {
		answer(c->d, c->d->form == FORM_E2B ? 502 : 404,
		       "No pod of this router has such a sandbox");
		return;
	}
	c->d->kind = DECIDE_POD;
	c->d->status = 502;
}

/* At 502 a client of the action server tells its agent to try again.  At 503
 * RemoteRuntime of OpenHands 0.62 resumes the runtime while it holds the lock of its
 * action, and then waits for that lock for ever. */
static void go_to_actions(const struct choice *c, struct span id)
{
	go_to(c, id.at, id.len);
	c->d->away = 502;
}

/* The id in a Host such as 49983-ID.example.com. */
static struct span id_in_host(struct span host)
{
	size_t at = 0;

	while (at < host.len && at < 6 && host.at[at] >= '0' && host.at[at] <= '9')
		at++;
	if (at == 0 || at > 5 || at == host.len || host.at[at] != '-')
		return (struct span){ 0 };
	const char *from = host.at + at + 1, *end = host.at + host.len, *stop = from;
	while (stop < end && *stop != '.' && *stop != ':')
		stop++;
	return (struct span){ from, (size_t)(stop - from) };
}

/* --- requests with a body that decides ------------------------------------------ */

/* Returns whether the body is there; if not, `d` asks for it. */
static bool has_body(const struct choice *c, size_t max)
{
	const struct http_head *h = c->request->head;

	if (c->body)
		return true;
	if (h->framing == HTTP_CHUNKED)
		answer(c->d, 411, "This request needs a Content-Length");
	else if (h->framing == HTTP_LENGTH && h->length > max)
		answer(c->d, 413, "The body is too large");
	else
		c->d->kind = DECIDE_BODY;
	c->d->body_max = max;
	return false;
}

static char *encode(const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	const size_t len = strlen(text);
	char *to = malloc(3 * len + 1), *at = to;

	if (!to)
		abort();
	for (size_t i = 0; i < len; i++) {
		const unsigned char byte = (unsigned char)text[i];

		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	*at = '\0';
	return to;
}

/* Gets a text of the body, encoded for a path; NULL: there is none, and the pod says so.
 */
static char *member(const struct choice *c, const char *key, bool is_encoded)
{
	AUTO_JSON struct json *doc = json_parse(c->body, c->len, NULL);
	struct json_at root;

	if (!doc)
		return NULL;
	json_root(doc, "body", &root);
	const char *text =
		json_type(&root) == JSON_OBJECT ? json_member_string(&root, key, "") : "";
	if (!*text)
		return NULL;
	return is_encoded ? encode(text) : text_copy(text);
}

static void start(const struct choice *c, const char *key)
{
	if (!has_body(c, DECIDE_START_MAX))
		return;
	c->d->kind = DECIDE_START;
	c->d->session = key ? member(c, key, true) : NULL;
}

static void steer(const struct choice *c)
{
	if (!has_body(c, DECIDE_BODY_MAX))
		return;
	AUTO_FREE char *id = member(c, "runtime_id", false);
	if (id)
		go_to(c, id, strlen(id));
	else
		answer(c->d, 422, "The body has no runtime_id");
}

/* --- paths -------------------------------------------------------------------- */

static void merge(const struct choice *c, enum merge_form form)
{
	c->d->kind = DECIDE_MERGE;
	c->d->merge = form;
}

/* /sandboxes and /v1/sandboxes, and what is below. */
static void sandboxes(const struct choice *c, struct span rest, enum merge_form form)
{
	const struct span id = request_component(&rest);

	if (id.len > 0)
		go_to(c, id.at, id.len);
	else if (is_method(c, "POST"))
		start(c, NULL);
	else
		merge(c, form);
}

static void session(const struct choice *c, struct span rest)
{
	const struct span id = request_component(&rest);

	if (span_is(id, "batch"))
		merge(c, MERGE_ARRAY);
	else if (id.len > 0)
		c->d->kind = DECIDE_FIND;
	else
		answer(c->d, 404, "Not Found");
}

enum place {
	PLACE_HEALTH,
	PLACE_METRICS,
	PLACE_START,
	PLACE_STEER,
	PLACE_LIST,
	PLACE_SESSION,
	PLACE_RUNTIME,
	PLACE_BUILD,
	PLACE_ANY,
	PLACE_NATIVE,
	PLACE_E2B,
	PLACE_E2B_2,
	PLACE_FILES
};

static const struct {
	const char *name;
	enum place place;
} places[] = {
	{ "health", PLACE_HEALTH },	  { "metrics", PLACE_METRICS },
	{ "start", PLACE_START },	  { "pause", PLACE_STEER },
	{ "resume", PLACE_STEER },	  { "stop", PLACE_STEER },
	{ "list", PLACE_LIST },		  { "sessions", PLACE_SESSION },
	{ "runtime", PLACE_RUNTIME },	  { "build", PLACE_BUILD },
	{ "build_status", PLACE_BUILD },  { "image_exists", PLACE_ANY },
	{ "registry_prefix", PLACE_ANY }, { "openapi.json", PLACE_ANY },
	{ "snapshots", PLACE_ANY },	  { "templates", PLACE_ANY },
	{ "volumes", PLACE_ANY },	  { "v1", PLACE_NATIVE },
	{ "sandboxes", PLACE_E2B },	  { "v2", PLACE_E2B_2 },
	{ "files", PLACE_FILES },
};

static void below(const struct choice *c, enum place place, struct span rest)
{
	struct span next = rest;
	const struct span second = request_component(&next);

	switch (place) {
	case PLACE_HEALTH:
		answer(c->d, rest.len ? 404 : 200, rest.len ? "Not Found" : NULL);
		return;
	case PLACE_METRICS:
		answer(c->d, 404, "Not Found");
		if (c->is_inside && rest.len == 0)
			c->d->kind = DECIDE_OWN;
		return;
	case PLACE_START:
		start(c, "session_id");
		return;
	case PLACE_STEER:
		steer(c);
		return;
	case PLACE_LIST:
		merge(c, MERGE_RUNTIMES);
		return;
	case PLACE_SESSION:
		session(c, rest);
		return;
	case PLACE_RUNTIME:
		go_to(c, second.at, second.len);
		return;
	case PLACE_BUILD:
		answer(c->d, 501,
		       "An image that one pod builds is not in the others: build it "
		       "elsewhere, push it to a registry, and name it by "
		       "SANDBOX_RUNTIME_CONTAINER_IMAGE");
		return;
	case PLACE_ANY:
		c->d->kind = DECIDE_ANY;
		return;
	case PLACE_NATIVE:
		if (span_is(second, "sandboxes"))
			sandboxes(c, next, MERGE_SANDBOXES);
		return;
	case PLACE_E2B:
		c->d->form = FORM_E2B;
		sandboxes(c, rest, MERGE_ARRAY);
		return;
	case PLACE_E2B_2:
		c->d->form = FORM_E2B;
		if (span_is(second, "sandboxes"))
			sandboxes(c, next, MERGE_ARRAY);
		return;
	case PLACE_FILES:
		answer(c->d, 501,
		       "The router cannot tell whose file this is: a signed URL needs a Host "
		       "such as 49983-ID.DOMAIN");
	}
}

static void look(const struct choice *c)
{
	const struct span field = request_field(c->request, "e2b-sandbox-id");
	const struct span host = id_in_host(request_field(c->request, "host"));
	const struct span id = field.len > 0 ? field : host;
	struct span rest = c->request->path;
	const struct span first = request_component(&rest);

	if (id.len > 0) { /* hutch serve looks there first, too */
		c->d->form = FORM_E2B;
		go_to(c, id.at, id.len);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (span_is(first, places[i].name)) {
			below(c, places[i].place, rest);
			return;
		}
	if (box_id_pod(first.at, first.len) > 0)
		go_to_actions(c, first);
}

void decide(const struct pods *pods, const struct request *r, const char *body,
	    size_t len, bool is_inside, struct decision *ret)
{
	const struct choice c = { pods, r, body, len, is_inside, ret };

	*ret = (struct decision){ .pod = -1, .away = 503 };
	answer(ret, 404, "Not Found");
	look(&c);
	if (ret->kind != DECIDE_ANSWER && ret->kind != DECIDE_POD)
		ret->status = 502;
}

void decision_done(struct decision *d)
{
	free(d->session);
	d->session = NULL;
}
