/* The code interpreter: cells of the plugin jupyter, whose events become lines of JSON.
 *
 * There is one kernel, and so one context, which is called `default`. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/e2b.h"

#define CONTEXT	   "default"
#define CELL_S	   86400 /* of a cell whose client waits */
#define PING_MS	   1000	 /* between lines, by which a client that is gone is noticed */
#define PNG_PREFIX "data:image/png;base64,"

struct cell {
	struct visit *visit; /* NULL: its client is gone */
	struct box *box;
	char *code, *before; /* owned; before: a cell that sets variables, or NULL */
	int64_t id;	     /* of its action; 0: none is under way */
	struct timer ping;
	bool is_restart;
};

static void cell_free(struct cell *c)
{
	free(c->code);
	free(c->before);
	free(c);
}

/* --- lines ---------------------------------------------------------------------- */

static void send_line(struct cell *c, struct buffer *json)
{
	json_write_close(json, "\n");
	AUTO_FREE char *text = json_write_end(json);
	(void)http_write(c->visit->request, text, strlen(text));
}

static void open_line(struct buffer *json, const char *type)
{
	json_write_begin(json);
	json_write_open(json, NULL, "{");
	json_write_text(json, "type", type);
}

static void send_plain(struct cell *c, const char *type)
{
	struct buffer json;

	open_line(&json, type);
	json_write_close(&json, "}");
	send_line(c, &json);
}

static void send_error(struct cell *c, const char *name, const char *value)
{
	struct buffer json;

	open_line(&json, "error");
	json_write_text(&json, "name", name);
	json_write_text(&json, "value", value);
	json_write_text(&json, "traceback", value);
	json_write_close(&json, "}");
	send_line(c, &json);
}

static void on_ping(void *context)
{
	struct cell *c = context;

	send_plain(c, "keepalive");
	loop_start(&c->visit->gateway->loop, &c->ping, PING_MS);
}

/* --- events --------------------------------------------------------------------- */

static void write_picture(struct buffer *json, const struct json_at *event,
			  const struct json_at *pictures)
{
	struct json_at item = { 0 }, index;
	uint64_t wanted;
	const char *url;

	if (!json_member(event, "png", &index) || json_uint(&index, &wanted, NULL) < 0)
		return;
	while (json_step(pictures, &item))
		if (item.index == wanted && json_string(&item, &url, NULL) == 0 &&
		    !strncmp(url, PNG_PREFIX, strlen(PNG_PREFIX)))
			json_write_text(json, "png", url + strlen(PNG_PREFIX));
}

/* The members are those of the SDKs' class Result, whose values come from inside; any other
 * member is left out. */
static void write_result(struct buffer *json, const struct json_at *event,
			 const struct json_at *pictures)
{
	static const char *const members[] = {
		"is_main_result", "text", "html",	"markdown", "svg", "jpeg", "pdf",
		"latex",	  "json", "javascript", "extra"
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct json_at member;
		size_t len;

		if (!json_member(event, members[i], &member))
			continue;
		const char *source = json_source(&member, &len);
		AUTO_FREE char *text = strndup(source, len);
		json_write_raw(json, members[i], text ? text : "null");
	}
	write_picture(json, event, pictures);
}

static void write_printed(struct buffer *json, const struct json_at *event)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	json_write_text(json, "text", json_member_string(event, "text", ""));
	json_write_format(json, "timestamp", "%lld%09ld", (long long)now.tv_sec,
			  now.tv_nsec);
}

static void send_event(struct cell *c, const struct json_at *event,
		       const struct json_at *pictures)
{
	static const char *const error_members[] = { "name", "value", "traceback" };
	const char *type = json_member_string(event, "type", "");
	const bool is_printed = !strcmp(type, "stdout") || !strcmp(type, "stderr");
	struct buffer json;

	if (!is_printed && strcmp(type, "result") != 0 && strcmp(type, "error") != 0)
		return;
	open_line(&json, type);
	if (is_printed)
		write_printed(&json, event);
	else if (!strcmp(type, "result"))
		write_result(&json, event, pictures);
	else
		for (size_t i = 0; i < ARRAY_LEN(error_members); i++)
			json_write_text(&json, error_members[i],
					json_member_string(event, error_members[i], ""));
	json_write_close(&json, "}");
	send_line(c, &json);
}

/* The events are a text that was made inside, and are parsed as such. */
static void send_events(struct cell *c, const char *observation, size_t len)
{
	AUTO_FREE char *text = hutch_json_string(observation, "hutch.data.events");
	AUTO_JSON struct json *events = text ? json_parse(text, strlen(text), NULL)
					     : NULL;
	AUTO_JSON struct json *doc = json_parse(observation, len, NULL);
	struct json_at root, extras = { 0 }, pictures = { 0 }, list, event = { 0 };

	if (!events || !doc) {
		AUTO_FREE char *content = hutch_json_string(observation, "content");
		send_error(c, "SandboxError",
			   content ? content : "the kernel sent no events");
		return;
	}
	json_root(doc, "observation", &root);
	if (json_member(&root, "extras", &extras))
		(void)json_member(&extras, "image_urls", &pictures);
	json_root(events, "events", &list);
	while (json_step(&list, &event))
		send_event(c, &event, &pictures);
}

/* --- cells ---------------------------------------------------------------------- */

static void act(struct cell *c, const char *code, box_answer *done);

static void finish(struct cell *c)
{
	struct visit *v = c->visit;

	loop_stop(&v->gateway->loop, &c->ping);
	send_plain(c, "end_of_execution");
	http_end(v->request);
}

static void on_cell(void *context, const struct hutch_message *m)
{
	struct cell *c = context;

	c->id = 0;
	if (!c->visit) {
		cell_free(c);
		return;
	}
	if (m->error.kind != HUTCH_OK)
		send_error(c, "SandboxError", m->error.message);
	else
		send_events(c, m->json, m->json_len);
	finish(c);
}

static void on_before(void *context, const struct hutch_message *m)
{
	struct cell *c = context;

	c->id = 0;
	if (c->visit && m->error.kind == HUTCH_OK)
		act(c, c->code, on_cell);
	else
		on_cell(c, m);
}

static void on_restarted(void *context, const struct hutch_message *m)
{
	struct cell *c = context;

	c->id = 0;
	if (!c->visit)
		cell_free(c);
	else if (m->error.kind != HUTCH_OK)
		e2b_fail_box(c->visit, &m->error);
	else
		http_reply_json(c->visit->request, 200, "{}");
}

static void act(struct cell *c, const char *code, box_answer *done)
{
	struct e2b *x = e2b_of(c->box);
	struct hutch_error e;
	struct buffer json;

	c->id = x ? ++x->cells : 1;
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "action", "run_ipython");
	json_write_text(&json, "session", E2B_SESSION);
	json_write_number(&json, "id", c->id);
	json_write_number(&json, "timeout", CELL_S);
	json_write_open(&json, "args", "{");
	json_write_text(&json, "code", code);
	json_write_bool(&json, "events", true);
	json_write_close(&json, "}}");
	if (envd_act(c->box, &json, c, done, &e))
		return;
	c->id = 0;
	if (c->is_restart) {
		e2b_fail_box(c->visit, &e);
		return;
	}
	send_error(c, "SandboxError", e.message);
	finish(c);
}

static void run_cell(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct cell *c = v->state;
	struct buffer json;

	if (why) {
		e2b_fail_box(v, why);
		return;
	}
	c->box = b;
	if (c->is_restart) {
		act(c, c->code, on_restarted);
		return;
	}
	http_stream(v->request, 200, "application/x-ndjson", NULL);
	open_line(&json, "number_of_executions");
	json_write_number(&json, "execution_count",
			  e2b_of(b) ? ++e2b_of(b)->executions : 1);
	json_write_close(&json, "}");
	send_line(c, &json);
	loop_start(&v->gateway->loop, &c->ping, PING_MS);
	act(c, c->before ? c->before : c->code, c->before ? on_before : on_cell);
}

/* --- requests ------------------------------------------------------------------- */

/* A client that goes away takes its cell with it, as in E2B. */
void code_closed(struct visit *v)
{
	struct cell *c = v->state;
	struct hutch_error e;

	if (!c)
		return;
	loop_stop(&v->gateway->loop, &c->ping);
	c->visit = NULL;
	if (c->id == 0) {
		cell_free(c);
		return;
	}
	/* If the cancel cannot be sent, the cell goes on until its end. */
	if (c->box->handle)
		(void)hutch_cancel(c->box->handle, c->id, NULL, &e);
}

static struct cell *cell_new(struct visit *v, const char *code)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	c->visit = v;
	c->code = text_copy(code);
	c->ping = (struct timer){ .context = c, .expired = on_ping };
	v->state = c;
	return c;
}

/* The variables last as long as the kernel: a cell may start programs that go on. */
static char *setting_of(const struct json_at *root)
{
	struct json_at vars, item = { 0 };
	const char *key, *value;
	struct buffer json;
	bool is_empty = true;

	if (!json_member(root, "env_vars", &vars))
		return NULL;
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	while (json_step_key(&vars, &item, &key)) {
		if (json_string(&item, &value, NULL) < 0)
			continue;
		AUTO_FREE char *name = json_write_quoted(key);
		AUTO_FREE char *text = json_write_quoted(value);
		AUTO_FREE char *pair = text_format("%s:%s", name, text);
		json_write_raw(&json, NULL, pair);
		is_empty = false;
	}
	json_write_close(&json, "}");
	AUTO_FREE char *object = json_write_end(&json);
	return is_empty ? NULL
			: text_format("__import__('os').environ.update(%s)", object);
}

void code_execute(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;

	if (!e2b_read_body(v, &doc, &root))
		return;
	const char *language = json_member_string(&root, "language", "python");
	if (strcmp(json_member_string(&root, "context_id", CONTEXT), CONTEXT) != 0) {
		e2b_fail(v, 404, "There is no such context");
		return;
	}
	if (strcmp(language, "python") != 0 && strcmp(language, "python3") != 0) {
		e2b_fail(v, 501, "language: hutch has a kernel of Python alone");
		return;
	}
	struct cell *c = cell_new(v, json_member_string(&root, "code", ""));
	c->before = setting_of(&root);
	envd_use(v, run_cell);
}

static void on_folder(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct buffer json;

	if (m->error.kind != HUTCH_OK) {
		e2b_fail_box(v, &m->error);
		return;
	}
	AUTO_FREE char *path = filesystem_path(m->json);
	json_write_begin(&json);
	json_write_open(&json, NULL, "[");
	json_write_open(&json, NULL, "{");
	json_write_text(&json, "id", CONTEXT);
	json_write_text(&json, "language", "python");
	json_write_text(&json, "cwd", path);
	json_write_close(&json, "}]");
	visit_reply(v, &json);
}

static void ask_folder(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why)
		e2b_fail_box(v, why);
	else if (!filesystem_ask(b, ".", v, on_folder, &e))
		e2b_fail_box(v, &e);
}

void code_contexts(struct visit *v)
{
	envd_use(v, ask_folder);
}

void code_no_context(struct visit *v)
{
	e2b_fail(v, 501, "hutch has one context, which is called default");
}

void code_restart(struct visit *v)
{
	if (strcmp(v->words[0], CONTEXT) != 0) {
		e2b_fail(v, 404, "There is no such context");
		return;
	}
	cell_new(v, "exit()")->is_restart = true;
	envd_use(v, run_cell);
}
