/* E2B's control API: sandboxes are made, listed, paused and ended by it. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"
#include "gateway/order.h"
#include "gateway/routes.h"

#define TIMEOUT_S   300 /* of a sandbox whose client names none */
#define TIMEOUT_MAX (30u * 24 * 3600)
#define LIST_MAX    100
#define MIB	    (1024 * 1024)

/* Templates of E2B's cloud, which stand for the operator's image; any other is the name of an
 * image. */
static const char *const own_templates[] = { "", "base", "code-interpreter-v1",
					     "code-interpreter-beta" };

/* --- what a sandbox looks like -------------------------------------------------- */

static void write_time(struct buffer *json, const char *key, int64_t seconds)
{
	const time_t at = (time_t)seconds;
	char text[32];
	struct tm tm;

	(void)gmtime_r(&at, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_write_text(json, key, text);
}

static void write_identity(struct buffer *json, const struct e2b *x)
{
	json_write_text(json, "sandboxID", x->box->id);
	json_write_text(json, "templateID", x->template);
	json_write_text(json, "clientID", "hutch");
	json_write_text(json, "envdVersion", E2B_ENVD_VERSION);
}

/* Returns a limit of the sandbox, or `other` where it has none. */
static int64_t limit(const struct e2b *x, const char *path, int64_t other)
{
	int64_t value = 0;

	return x->box->info && hutch_json_integer(x->box->info, path, &value) && value > 0
		       ? value
		       : other;
}

static int64_t memory_total(const struct e2b *x)
{
	return limit(x, "limits.memory", (int64_t)x->box->all->serve->host_memory);
}

static int64_t cpu_count(const struct e2b *x)
{
	double cpus = 0;

	if (x->box->info && hutch_json_number(x->box->info, "limits.cpus", &cpus) &&
	    cpus >= 1)
		return (int64_t)cpus;
	return cpus > 0 ? 1 : (int64_t)x->box->all->serve->host_cpus;
}

static bool is_paused(const struct e2b *x)
{
	return x->box->state == BOX_PAUSED &&
	       (x->is_paused || !x->box->all->serve->idle_ms);
}

static void write_sandbox(struct buffer *json, const struct e2b *x)
{
	json_write_open(json, NULL, "{");
	write_identity(json, x);
	write_time(json, "startedAt", x->started);
	write_time(json, "endAt", x->end);
	json_write_number(json, "cpuCount", cpu_count(x));
	json_write_number(json, "memoryMB", memory_total(x) / MIB);
	json_write_number(json, "diskSizeMB", limit(x, "limits.disk", 0) / MIB);
	json_write_text(json, "state", is_paused(x) ? "paused" : "running");
	json_write_raw(json, "metadata", x->metadata);
}

static void reply_sandbox(struct visit *v, const struct e2b *x)
{
	struct buffer json;

	json_write_begin(&json);
	write_sandbox(&json, x);
	json_write_open(&json, "lifecycle", "{");
	json_write_text(&json, "onTimeout", x->pauses ? "pause" : "kill");
	json_write_bool(&json, "autoResume", x->resumes);
	json_write_close(&json, "}}");
	visit_reply(v, &json);
}

/* The access is what a client needs to use the sandbox. */
static void reply_access(struct visit *v, unsigned status, const struct e2b *x)
{
	struct buffer json;
	char key[KEYS_BOX];

	box_key(x->box, key);
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	write_identity(&json, x);
	json_write_text(&json, "envdAccessToken", key);
	json_write_text(&json, "trafficAccessToken", key);
	json_write_text(&json, "domain", NULL);
	json_write_close(&json, "}");
	AUTO_FREE char *text = json_write_end(&json);
	http_reply_json(v->request, status, text);
}

/* --- requests -------------------------------------------------------------------- */

bool e2b_read_body(struct visit *v, struct json **ret_doc, struct json_at *ret)
{
	size_t len;
	const char *text = http_body(v->request, &len);
	struct err e;
	struct json *doc = json_parse(len ? text : "{}", len ? len : 2, &e);

	if (doc) {
		json_root(doc, "body", ret);
		if (json_expect(ret, JSON_OBJECT, &e) == 0) {
			*ret_doc = doc;
			return true;
		}
	}
	json_free(doc);
	e2b_fail(v, 400, e.text);
	return false;
}

static bool read_flag(const struct json_at *root, const char *key, bool other)
{
	struct json_at member;
	bool value = other;

	if (json_member(root, key, &member))
		(void)json_bool(&member, &value, NULL); /* another type: as if absent */
	return value;
}

/* Reads the time-out; false: the request is answered. */
static bool read_timeout(struct visit *v, const struct json_at *root, uint64_t *ret)
{
	struct json_at member;
	struct err e;

	*ret = TIMEOUT_S;
	if (!json_member(root, "timeout", &member))
		return true;
	if (json_uint(&member, ret, &e) == 0 && *ret <= TIMEOUT_MAX)
		return true;
	e2b_fail(v, 400, "timeout: seconds, up to 30 days");
	return false;
}

/* The sandbox of a path; NULL: the request is answered. */
static struct e2b *sandbox_of(struct visit *v)
{
	struct e2b *x = v->box && e2b_is_there(v->box) ? e2b_of(v->box) : NULL;

	if (!x)
		e2b_fail(v, 404, "The sandbox was not found");
	return x;
}

/* --- POST /sandboxes ------------------------------------------------------------- */

/* A request must not look as if it were obeyed where it is not: the network, volumes and all
 * else is the operator's. */
static const char *unsupported(const struct json_at *root)
{
	static const char *const members[] = { "network", "volumeMounts", "mcp", "iam" };
	struct json_at member;

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (json_member(root, members[i], &member))
			return members[i];
	return NULL;
}

/* Whether the operator's options give sandboxes a network. */
static bool has_network(const struct serve *s)
{
	static const char *const flags[] = { "--network", "--net", "--allow",
					     "--policy" };

	for (size_t i = 0; i < s->options.count; i++)
		for (size_t k = 0; k < ARRAY_LEN(flags); k++)
			if (!strncmp(s->options.items[i], flags[k], strlen(flags[k])))
				return true;
	return false;
}

static bool check_new(struct visit *v, const struct json_at *root)
{
	const char *key = unsupported(root);

	if (key) {
		AUTO_FREE char *text =
			text_format("%s: hutch serve has no such thing; its "
				    "operator decides about it",
				    key);
		e2b_fail(v, 400, text);
		return false;
	}
	if (!read_flag(root, "allow_internet_access", true) &&
	    has_network(v->gateway->serve)) {
		e2b_fail(v, 400,
			 "allow_internet_access: this server's sandboxes have a network");
		return false;
	}
	return true;
}

static bool read_texts(struct visit *v, const struct json_at *root, const char *key,
		       struct list *to)
{
	struct json_at all, item = { 0 };
	const char *name, *value;
	struct err e;

	if (!json_member(root, key, &all))
		return true;
	while (json_step_key(&all, &item, &name)) {
		if (json_string(&item, &value, &e) < 0) {
			e2b_fail(v, 400, e.text);
			return false;
		}
		list_addf(to, "%s=%s", name, value);
	}
	return true;
}

static bool read_metadata(struct visit *v, const struct json_at *root, char **ret)
{
	struct list pairs = { 0 };
	struct json_at member;
	size_t len = 2;
	const char *source = "{}";
	const bool is_fine = read_texts(v, root, "metadata", &pairs);

	list_done(&pairs);
	if (!is_fine)
		return false;
	if (json_member(root, "metadata", &member))
		source = json_source(&member, &len);
	if (len > E2B_METADATA_MAX) {
		e2b_fail(v, 400, "metadata: more than 8192 bytes");
		return false;
	}
	*ret = strndup(source, len);
	return *ret != NULL;
}

static void fill_order(struct order *o, const char *template)
{
	bool is_own = false;

	for (size_t i = 0; i < ARRAY_LEN(own_templates); i++)
		is_own |= !strcmp(template, own_templates[i]);
	o->image = text_copy(is_own ? "" : template);
	if (!strncmp(template, "code-interpreter", strlen("code-interpreter")))
		list_add(&o->plugins, "jupyter");
}

static void on_made(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct e2b *x = b->extra;

	if (why) {
		e2b_fail(v,
			 why->kind == HUTCH_INVALID || why->kind == HUTCH_REFUSED ? 400
										  : 500,
			 why->message);
		return;
	}
	e2b_extend(x, x->timeout_s);
	reply_access(v, 201, x);
}

static void make(struct visit *v, const struct e2b *settings, struct order *o)
{
	struct box *b;

	fill_order(o, settings->template);
	e2b_label(settings, o);
	b = box_create(&v->gateway->boxes, BOX_PLAIN, "", o);
	if (!b) {
		e2b_fail(v, 503, "There are too many sandboxes");
		return;
	}
	(void)e2b_attach(b, settings);
	box_use(b, v, on_made);
}

static void create_of(struct visit *v, const struct json_at *root)
{
	struct e2b settings = { .started = (int64_t)time(NULL) };
	struct json_at resume;
	struct order o = { 0 };

	settings.template =
		(char *)(uintptr_t)json_member_string(root, "templateID", "base");
	settings.pauses = read_flag(root, "autoPause", false);
	if (json_member(root, "autoResume", &resume))
		settings.resumes = read_flag(&resume, "enabled", false);
	if (check_new(v, root) && read_timeout(v, root, &settings.timeout_s) &&
	    read_metadata(v, root, &settings.metadata) &&
	    read_texts(v, root, "envVars", &o.env))
		make(v, &settings, &o);
	free(settings.metadata);
	order_done(&o);
}

static void create(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;

	if (e2b_read_body(v, &doc, &root))
		create_of(v, &root);
}

/* --- listing ---------------------------------------------------------------------- */

static int hex_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes a word of a query in place. */
static void decode(char *word)
{
	char *to = word;

	for (const char *at = word; *at; at++) {
		const int high = *at == '%' ? hex_of(at[1]) : -1;
		const int low = high >= 0 ? hex_of(at[2]) : -1;

		*to++ = low >= 0 ? (char)(high << 4 | low) : *at == '+' ? ' ' : *at;
		at += low >= 0 ? 2 : 0;
	}
	*to = '\0';
}

/* Whether a sandbox has all the pairs of a query such as a=1&b=2, whose words the SDKs encode
 * once more than the query itself. */
static bool has_metadata(const struct e2b *x, const char *query)
{
	AUTO_FREE char *copy = text_copy(query ? query : "");
	AUTO_JSON struct json *doc = json_parse(x->metadata, strlen(x->metadata), NULL);
	struct json_at root;
	char *rest = copy;

	decode(copy);
	if (doc)
		json_root(doc, "metadata", &root);
	for (char *pair; (pair = strsep(&rest, "&"));) {
		char *value = strchr(pair, '=');

		if (!*pair)
			continue;
		if (!doc || !value)
			return false;
		*value++ = '\0';
		decode(pair);
		decode(value);
		const char *have = json_member_string(&root, pair, NULL);
		if (!have || strcmp(have, value) != 0)
			return false;
	}
	return true;
}

/* Whether a sandbox is one that the query asks for. */
static bool is_asked(const struct visit *v, const struct e2b *x)
{
	const char *state = http_query(v->request, "state");
	const char *template = http_query(v->request, "template");
	const char *name = is_paused(x) ? "paused" : "running";

	/* The first version of the call knew no others. */
	if (!state && strncmp(http_path(v->request), "/v2/", 4) != 0)
		state = "running";
	if (state && !strstr(state, name))
		return false;
	return (!template || !strcmp(template, x->template)) &&
	       has_metadata(x, http_query(v->request, "metadata"));
}

static size_t number(const char *text, size_t other, size_t max)
{
	char *end;
	const unsigned long value = text ? strtoul(text, &end, 10) : 0;

	return !text || *end || value == 0 ? other : value < max ? value : max;
}

static void list_all(struct visit *v)
{
	const size_t from = number(http_query(v->request, "nextToken"), 0, BOXES_MAX);
	const size_t most = number(http_query(v->request, "limit"), LIST_MAX, LIST_MAX);
	struct buffer json;
	size_t at = 0;

	json_write_begin(&json);
	json_write_open(&json, NULL, "[");
	for (struct box *b = v->gateway->boxes.first; b; b = b->next) {
		const struct e2b *x =
			e2b_is_there(b) && b->state != BOX_STARTING ? e2b_of(b) : NULL;

		if (!x || !is_asked(v, x) || at++ < from || at > from + most)
			continue;
		write_sandbox(&json, x);
		json_write_close(&json, "}");
	}
	json_write_close(&json, "]");
	if (at > from + most) {
		AUTO_FREE char *next = text_format("%zu", from + most);
		http_add(v->request, "x-next-token", next);
	}
	visit_reply(v, &json);
}

static void get_one(struct visit *v)
{
	const struct e2b *x = sandbox_of(v);

	if (x)
		reply_sandbox(v, x);
}

/* --- the end, pause and time-out -------------------------------------------------- */

static void on_done(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct e2b *x = b->extra;

	x->is_ending &= !why;
	if (why && why->kind == HUTCH_NOT_FOUND)
		e2b_fail(v, 404, "The sandbox was not found");
	else if (why)
		e2b_fail(v, 500, why->message);
	else
		http_reply(v->request, 204, "text/plain", "", 0);
}

static void remove_it(struct visit *v)
{
	struct e2b *x = sandbox_of(v);

	if (!x)
		return;
	x->is_ending = true;
	box_remove(x->box, v, on_done);
}

/* A paused one is kept until its client ends it. */
static void on_paused(void *context, struct box *b, const struct hutch_error *why)
{
	struct e2b *x = b->extra;

	if (!why)
		loop_stop(b->all->loop, &x->timer);
	x->is_paused = !why;
	on_done(context, b, why);
}

static void pause_it(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct e2b *x = sandbox_of(v);
	struct json_at root;

	if (!x || !e2b_read_body(v, &doc, &root))
		return;
	if (!read_flag(&root, "memory", true)) {
		e2b_fail(v, 400,
			 "memory: hutch pauses a sandbox with its processes alone");
		return;
	}
	if (x->is_paused && x->box->state == BOX_PAUSED) {
		e2b_fail(v, 409, "The sandbox is paused already");
		return;
	}
	box_pause(x->box, v, on_paused);
}

struct resume {
	struct visit *visit;
	uint64_t timeout_s;
	unsigned status;
};

static void on_resumed(void *context, struct box *b, const struct hutch_error *why)
{
	struct resume *r = context;
	struct e2b *x = b->extra;

	if (why) {
		x->is_paused = b->state == BOX_PAUSED;
		e2b_fail(r->visit, 500, why->message);
	} else {
		const int64_t end = (int64_t)time(NULL) + (int64_t)r->timeout_s;
		/* Connecting makes the time of a running one longer, never shorter. */
		if (r->status == 201 || end > x->end)
			e2b_extend(x, r->timeout_s);
		reply_access(r->visit, r->status, x);
	}
	free(r);
}

static void resume(struct visit *v, bool must_be_paused)
{
	AUTO_JSON struct json *doc = NULL;
	struct e2b *x = sandbox_of(v);
	struct json_at root;
	uint64_t timeout_s;

	if (!x || !e2b_read_body(v, &doc, &root) || !read_timeout(v, &root, &timeout_s))
		return;
	if (must_be_paused && !x->is_paused) {
		e2b_fail(v, 409, "The sandbox is not paused");
		return;
	}
	if (!read_flag(&root, "memory", true) && x->is_paused) {
		e2b_fail(v, 400,
			 "memory: hutch lets a sandbox go on with its processes alone");
		return;
	}
	struct resume *r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	*r = (struct resume){ v, timeout_s, x->is_paused ? 201 : 200 };
	x->is_paused = false;
	box_use(x->box, r, on_resumed);
}

static void resume_it(struct visit *v)
{
	resume(v, true);
}

static void connect_it(struct visit *v)
{
	resume(v, false);
}

static void set_timeout(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct e2b *x = sandbox_of(v);
	struct json_at root;
	uint64_t timeout_s;

	if (!x || !e2b_read_body(v, &doc, &root) || !read_timeout(v, &root, &timeout_s))
		return;
	if (x->is_paused) {
		e2b_fail(v, 404, "The sandbox was not found: it is paused");
		return;
	}
	e2b_extend(x, timeout_s);
	http_reply(v->request, 204, "text/plain", "", 0);
}

static void refresh(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct e2b *x = sandbox_of(v);
	struct json_at root;

	if (!x || !e2b_read_body(v, &doc, &root))
		return;
	const uint64_t seconds = json_member_uint(&root, "duration", 15);
	if (seconds <= TIMEOUT_MAX && (int64_t)time(NULL) + (int64_t)seconds > x->end)
		e2b_extend(x, seconds);
	http_reply(v->request, 204, "text/plain", "", 0);
}

/* --- metrics ---------------------------------------------------------------------- */

static void write_metrics(struct buffer *b, const struct e2b *x, const char *stats)
{
	const int64_t now = (int64_t)time(NULL), total = memory_total(x);
	int64_t memory = 0;
	double cpu_s = 0;
	struct statvfs st = { 0 };

	(void)hutch_json_integer(stats, "memory_bytes", &memory);
	(void)hutch_json_number(stats, "cpu_s", &cpu_s);
	(void)statvfs("/", &st); /* zeros where it fails */
	const double uptime_s = now > x->started ? (double)(now - x->started) : 1;
	json_write_open(b, NULL, "{");
	write_time(b, "timestamp", now);
	json_write_number(b, "timestampUnix", now);
	json_write_number(b, "cpuCount", cpu_count(x));
	json_write_format(b, "cpuUsedPct", "%.2f", 100 * cpu_s / uptime_s);
	json_write_number(b, "memUsed", memory);
	json_write_number(b, "memTotal", total);
	json_write_number(b, "memCache", 0);
	json_write_number(b, "diskUsed",
			  (int64_t)((uint64_t)(st.f_blocks - st.f_bavail) * st.f_frsize));
	json_write_number(b, "diskTotal", (int64_t)((uint64_t)st.f_blocks * st.f_frsize));
	json_write_close(b, "}");
}

static void on_stats(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct e2b *x = v->box->extra;
	struct buffer json;

	if (m->error.kind != HUTCH_OK) {
		e2b_fail(v, m->error.kind == HUTCH_DISCONNECTED ? 404 : 500,
			 m->error.message);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "[");
	write_metrics(&json, x, m->json);
	json_write_close(&json, "]");
	visit_reply(v, &json);
}

static void ask_stats(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why) {
		e2b_fail(v, 404, why->message);
		return;
	}
	void *tag = box_tag(b, v, on_stats);
	if (hutch_stats(b->handle, tag, &e) >= 0)
		return;
	box_untag(tag);
	e2b_fail(v, 500, e.message);
}

static void metrics(struct visit *v)
{
	struct e2b *x = sandbox_of(v);

	if (x)
		box_reach(x->box, v, ask_stats);
}

static void absent(struct visit *v)
{
	e2b_fail(v, 501,
		 "hutch serve has no such call of E2B's: see docs/recipes/e2b.md");
}

/* --- the table -------------------------------------------------------------------- */

#define CALL(verb, name, function, max)                                  \
	{                                                                \
		.method = verb, .path = name, .access = ACCESS_OPERATOR, \
		.handle = function, .body_max = max                      \
	}

static const struct route list[] = {
	CALL("POST", "/sandboxes", create, 1u << 20),
	CALL("POST", "/v2/sandboxes", create, 1u << 20),
	CALL("GET", "/sandboxes", list_all, 0),
	CALL("GET", "/v2/sandboxes", list_all, 0),
	CALL("GET", "/sandboxes/*", get_one, 0),
	CALL("DELETE", "/sandboxes/*", remove_it, 4096),
	CALL("POST", "/sandboxes/*/pause", pause_it, 4096),
	CALL("POST", "/sandboxes/*/resume", resume_it, 4096),
	CALL("POST", "/sandboxes/*/connect", connect_it, 4096),
	CALL("POST", "/v2/sandboxes/*/connect", connect_it, 4096),
	CALL("POST", "/sandboxes/*/timeout", set_timeout, 4096),
	CALL("POST", "/sandboxes/*/refreshes", refresh, 4096),
	CALL("GET", "/sandboxes/*/metrics", metrics, 0),
	CALL("POST", "/sandboxes/*/snapshots", absent, 4096),
	CALL("POST", "/sandboxes/*/fork", absent, 4096),
	CALL("PUT", "/sandboxes/*/network", absent, 65536),
	CALL("GET", "/snapshots", absent, 0),
	CALL("GET", "/templates", absent, 0),
	CALL("GET", "/volumes", absent, 0),
};

const struct routes e2b_routes = { .list = list,
				   .count = ARRAY_LEN(list),
				   .fail = e2b_fail };
