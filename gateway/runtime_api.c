/* OpenHands' runtime API: RemoteRuntime of 0.62, APIRemoteWorkspace of the SDK, and the app
 * server with RUNTIME=remote start, find, pause and end sandboxes by it.
 *
 * A runtime is an action server if its command starts one, and else the main process of its
 * image, whose ports are published on loopback. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/routes.h"
#include "gateway/survey.h"
#include "policy/json/json.h"

#define ACTION_SERVER "openhands.runtime.action_execution_server"
#define START_MS      20000 /* after which an answer to /start says `starting` */

/* Ports of an agent server, and of the applications that an agent starts. */
static const uint16_t main_ports[] = { 60000, 60001, 12000, 12001 };

/* --- what a runtime looks like -------------------------------------------------- */

static const char *pod_status(const struct box *b)
{
	switch (b->state) {
	case BOX_STARTING:
		return "pending";
	case BOX_RUNNING:
		return "ready";
	case BOX_PAUSED:
		return "paused";
	case BOX_FAILED:
		return "failed";
	case BOX_ENDED:
		break;
	}
	return "not found";
}

/* Returns the address of this host that leads to a port inside, allocated; NULL: none. */
static char *published(const struct box *b, unsigned port)
{
	AUTO_JSON struct json *doc = b->info ? json_parse(b->info, strlen(b->info), NULL)
					     : NULL;
	struct json_at root, list, item = { 0 };
	const size_t prefix = strlen("127.0.0.1:");

	if (!doc)
		return NULL;
	json_root(doc, "info", &root);
	if (!json_member(&root, "ports", &list))
		return NULL;
	while (json_step(&list, &item)) {
		const char *host = json_member_string(&item, "host", "");

		if (json_member_uint(&item, "guest", 0) == port && strlen(host) > prefix)
			return text_format("http://%s", host);
	}
	return NULL;
}

static char *url_of(const struct box *b)
{
	return b->kind == BOX_MAIN ? published(b, main_ports[0])
				   : text_format("%s/%s", b->all->serve->url, b->id);
}

static void write_hosts(struct buffer *json, const struct box *b)
{
	json_write_open(json, "work_hosts", "{");
	for (size_t i = 2; i < ARRAY_LEN(main_ports); i++) {
		AUTO_FREE char *host = published(b, main_ports[i]);
		if (host)
			json_write_number(json, host, main_ports[i]);
	}
	json_write_close(json, "}");
}

static void write_runtime(struct buffer *json, const struct box *b)
{
	AUTO_FREE char *url = url_of(b);
	char key[KEYS_BOX];

	box_key(b, key);
	json_write_open(json, NULL, "{");
	json_write_text(json, "runtime_id", b->id);
	json_write_text(json, "session_id", b->session);
	json_write_text(json, "url", url ? url : "");
	json_write_text(json, "session_api_key", key);
	json_write_text(json, "status", box_state_name(b));
	json_write_text(json, "pod_status", pod_status(b));
	json_write_number(json, "restart_count", 0);
	json_write_open(json, "restart_reasons", "[");
	if (b->state == BOX_FAILED)
		json_write_text(json, NULL, b->why.message);
	json_write_close(json, "]");
	write_hosts(json, b);
	json_write_close(json, "}");
}

static void reply_runtime(struct visit *v, const struct box *b)
{
	struct buffer json;

	json_write_begin(&json);
	write_runtime(&json, b);
	visit_reply(v, &json);
}

/* --- /start ------------------------------------------------------------------- */

/* The member `command`: a list of words, or a text that a shell would split at blanks. */
static void read_command(const struct json_at *root, struct list *to)
{
	struct json_at command, item = { 0 };
	const char *text;

	if (!json_member(root, "command", &command))
		return;
	if (json_type(&command) == JSON_STRING &&
	    json_string(&command, &text, NULL) == 0) {
		AUTO_FREE char *copy = text_copy(text);
		char *rest = copy;

		for (char *word; (word = strsep(&rest, " \t\n"));)
			if (*word)
				list_add(to, word);
		return;
	}
	while (json_step(&command, &item))
		if (json_string(&item, &text, NULL) == 0)
			list_add(to, text);
}

static void read_environment(const struct json_at *root, struct list *to)
{
	struct json_at all, item = { 0 };
	const char *key, *value;

	if (!json_member(root, "environment", &all))
		return;
	while (json_step_key(&all, &item, &key))
		if (json_string(&item, &value, NULL) == 0)
			list_addf(to, "%s=%s", key, value);
}

/* The reference makes a user of this name and id where its image has none; where the command
 * line has neither, the user is that of the image. */
static void set_user(struct order *o, const char *name, const char *id)
{
	if (!name && !id)
		return;
	free(o->user);
	if (name && !strcmp(name, "root"))
		o->user = text_copy("root");
	else
		o->user =
			text_format("%s=%s", name ? name : "openhands", id ? id : "1000");
}

/* Takes from the command line of the action server what it says about the sandbox. */
static void read_action_server(const struct list *command, struct order *o)
{
	static const char *const with_value[] = { "--username", "--user-id",
						  "--browsergym-eval-env" };
	const char *name = NULL, *id = NULL;
	bool has_browser = true, in_plugins = false;

	for (size_t i = 0; i < command->count; i++) {
		const char *word = command->items[i];
		const char *next = i + 1 < command->count ? command->items[i + 1] : "";

		if (word[0] == '-')
			in_plugins = !strcmp(word, "--plugins");
		else if (in_plugins)
			list_add_once(&o->plugins, word);
		if (!strcmp(word, "--working-dir")) {
			free(o->workdir);
			o->workdir = text_copy(next);
		} else if (!strcmp(word, "--no-enable-browser"))
			has_browser = false;
		else if (!strcmp(word, "--username"))
			name = next;
		else if (!strcmp(word, "--user-id"))
			id = next;
		for (size_t k = 0; k < ARRAY_LEN(with_value); k++)
			i += !strcmp(word, with_value[k]);
	}
	set_user(o, name, id);
	if (!has_browser)
		return;
	list_add_once(&o->plugins, "browser");
	list_add_once(&o->plugins, "file_viewer"); /* by which the browser shows files */
}

struct start {
	struct visit *visit;
	struct timer timer;
	struct box *box;
	bool has_skills;
};

static void on_skills(void *context, const struct hutch_message *m)
{
	(void)context;
	(void)m; /* a cell that lacks them says so */
}

/* Runs the cell that the reference's action server runs at its start where it has both
 * plugins.  Cells run one after the other, so a client's first one waits for it. */
static void begin_skills(struct box *b)
{
	static const char cell[] =
		"{\"action\":\"run_ipython\",\"args\":{\"code\":"
		"\"from openhands.runtime.plugins.agent_skills.agentskills import *\"}}";
	void *tag = box_tag(b, NULL, on_skills);

	if (hutch_act(b->handle, cell, 0, tag, NULL) < 0)
		box_untag(tag);
}

static void finish_start(struct start *s)
{
	struct visit *v = s->visit;

	s->visit = NULL;
	if (!v)
		return;
	loop_stop(&v->gateway->loop, &s->timer);
	if (s->box->state == BOX_FAILED)
		visit_fail(v, 500, s->box->why.message);
	else
		reply_runtime(v, s->box);
}

static void on_started(void *context, struct box *b, const struct hutch_error *why)
{
	struct start *s = context;

	if (!why && s->has_skills)
		begin_skills(b);
	finish_start(s);
	free(s);
}

/* The image is being fetched, say: the client asks for the state from now on. */
static void on_late(void *context)
{
	finish_start(context);
}

static bool is_session(const char *text)
{
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 127)
			return false;
	return len > 0 && len <= BOX_SESSION_MAX;
}

static void start_box(struct visit *v, enum box_kind kind, const char *session,
		      struct order *o)
{
	struct box *b = box_create(&v->gateway->boxes, kind, session, o);
	struct start *s = b ? calloc(1, sizeof(*s)) : NULL;

	if (!s) {
		visit_fail(v, 503, "There are too many runtimes");
		return;
	}
	*s = (struct start){ .visit = v, .box = b };
	s->has_skills = list_has(&o->plugins, "jupyter") &&
			list_has(&o->plugins, "agent_skills");
	s->timer = (struct timer){ .context = s, .expired = on_late };
	loop_start(&v->gateway->loop, &s->timer, START_MS);
	box_use(b, s, on_started);
}

/* A command of the runtime API begins with its program: the stock one names the same program
 * as the Entrypoint of the stock image. */
static void fill_main(struct order *o, const struct list *command)
{
	o->is_main = true;
	o->is_whole = command->count > 0;
	for (size_t i = 0; i < command->count; i++)
		list_add(&o->argv, command->items[i]);
	memcpy(o->ports, main_ports, sizeof(main_ports));
	o->port_count = ARRAY_LEN(main_ports);
}

/* Whether the session has a runtime.  A runtime that could not be made
 * makes room for a new one. */
static bool has_runtime(struct boxes *all, const char *session)
{
	struct box *b = box_by_session(all, session);

	if (b && b->state == BOX_FAILED) {
		box_drop(b);
		b = NULL;
	}
	return b != NULL;
}

static void start_of(struct visit *v, const struct json_at *root)
{
	const char *session = json_member_string(root, "session_id", "");
	struct list command = { 0 };
	struct order o = { .image = text_copy(json_member_string(root, "image", "")),
			   .factor = 1 };
	struct json_at factor;

	if (json_member(root, "resource_factor", &factor))
		(void)json_number(&factor, &o.factor, NULL); /* 1 where it is no number */
	read_command(root, &command);
	read_environment(root, &o.env);
	const bool has_actions = list_has(&command, ACTION_SERVER);
	if (has_actions)
		read_action_server(&command, &o);
	else
		fill_main(&o, &command);
	if (!(o.factor >= 0.001 && o.factor <= ORDER_FACTOR))
		visit_fail(v, 422, "resource_factor: from 0.001 to 16");
	else if (!is_session(session))
		visit_fail(v, 422, "session_id: 1 to 128 characters, without blanks");
	else if (has_runtime(&v->gateway->boxes, session))
		visit_fail(v, 409, "There is a runtime of this session already");
	else
		start_box(v, has_actions ? BOX_ACTIONS : BOX_MAIN, session, &o);
	list_done(&command);
	order_done(&o);
}

/* Calls `then` with the body, if it is an object. */
static void with_body(struct visit *v,
		      void (*then)(struct visit *v, const struct json_at *root))
{
	size_t len;
	const char *text = http_body(v->request, &len);
	struct err e;
	AUTO_JSON struct json *doc = json_parse(text, len, &e);
	struct json_at root;

	if (doc)
		json_root(doc, "body", &root);
	if (!doc || json_type(&root) != JSON_OBJECT)
		visit_fail(v, 422, doc ? "body: an object was expected" : e.text);
	else
		then(v, &root);
}

static void start(struct visit *v)
{
	with_body(v, start_of);
}

/* --- looking ------------------------------------------------------------------ */

/* Answers with the runtime, for which it asks first where it is not known well enough: the
 * ports of a main process are in its info. */
static void on_looked(void *context, struct box *b, const struct hutch_error *why)
{
	(void)why;
	reply_runtime(context, b);
}

static void look(struct visit *v, struct box *b)
{
	if (!b)
		visit_fail(v, 404, "The server has no such runtime");
	else if (b->state == BOX_STARTING || b->handle || b->is_stopped)
		reply_runtime(v, b);
	else
		box_reach(b, v, on_looked);
}

static void session(struct visit *v)
{
	look(v, box_by_session(&v->gateway->boxes, v->words[0]));
}

static void runtime(struct visit *v)
{
	look(v, v->box);
}

struct batch {
	struct buffer *json;
	struct survey *survey;
	struct boxes *all;
};

static void ask_session(void *context, const char *id)
{
	struct batch *batch = context;
	struct box *b = box_by_session(batch->all, id);

	if (b)
		survey_add(batch->survey, b);
}

static void add_session(void *context, const char *id)
{
	struct batch *batch = context;
	const struct box *b = box_by_session(batch->all, id);

	if (b)
		write_runtime(batch->json, b);
}

static void write_sessions(struct visit *v)
{
	struct buffer json;
	struct batch batch = { .json = &json, .all = &v->gateway->boxes };

	json_write_begin(&json);
	json_write_open(&json, NULL, "[");
	http_query_each(v->request, "ids", &batch, add_session);
	json_write_close(&json, "]");
	visit_reply(v, &json);
}

static void sessions(struct visit *v)
{
	struct survey *s = survey_begin(v, write_sessions);
	struct batch batch = { .survey = s, .all = &v->gateway->boxes };

	http_query_each(v->request, "ids", &batch, ask_session);
	survey_end(s);
}

/* The app server takes each runtime of the list for one that runs, and pauses the oldest if
 * there are too many. */
static bool is_listed(const struct box *b)
{
	return !b->is_removed && (b->state == BOX_STARTING || b->state == BOX_RUNNING);
}

static void write_list(struct visit *v)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_open(&json, "runtimes", "[");
	for (const struct box *b = v->gateway->boxes.first; b; b = b->next)
		if (is_listed(b))
			write_runtime(&json, b);
	json_write_close(&json, "]}");
	visit_reply(v, &json);
}

static void list_all(struct visit *v)
{
	struct survey *s = survey_begin(v, write_list);

	for (struct box *b = v->gateway->boxes.first; b; b = b->next)
		if (is_listed(b))
			survey_add(s, b);
	survey_end(s);
}

/* --- pause, resume, stop ------------------------------------------------------ */

static void on_steered(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;

	if (why)
		visit_fail_box(v, why);
	else
		reply_runtime(v, b);
}

static struct box *named(struct visit *v, const struct json_at *root)
{
	const char *id = json_member_string(root, "runtime_id", "");
	struct box *b = box_by_id(&v->gateway->boxes, id, strlen(id));

	if (!b)
		visit_fail(v, 404, "The server has no such runtime");
	return b;
}

static void pause_of(struct visit *v, const struct json_at *root)
{
	struct box *b = named(v, root);

	if (b)
		box_pause(b, v, on_steered);
}

static void resume_of(struct visit *v, const struct json_at *root)
{
	struct box *b = named(v, root);

	if (b)
		box_resume(b, v, on_steered);
}

static void stop_of(struct visit *v, const struct json_at *root)
{
	struct box *b = named(v, root);

	if (b)
		box_remove(b, v, on_steered);
}

static void pause_it(struct visit *v)
{
	with_body(v, pause_of);
}

static void resume_it(struct visit *v)
{
	with_body(v, resume_of);
}

static void stop_it(struct visit *v)
{
	with_body(v, stop_of);
}

/* --- images ------------------------------------------------------------------- */

static void on_image(void *context, struct spawn_answer *a)
{
	struct visit *v = context;
	AUTO_FREE char *text = spawn_answer_text(a);
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), NULL);
	struct json_at all, first = { 0 };
	struct buffer json;

	if (doc)
		json_root(doc, "answer", &all);
	const bool exists = doc && json_step(&all, &first);

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_bool(&json, "exists", exists);
	if (exists) {
		json_write_open(&json, "image", "{");
		json_write_text(&json, "upload_time",
				json_member_string(&first, "created", ""));
		json_write_number(&json, "image_size_bytes",
				  (int64_t)json_member_uint(&first, "size", 0));
		json_write_close(&json, "}");
	}
	json_write_close(&json, "}");
	visit_reply(v, &json);
}

static void image_exists(struct visit *v)
{
	const char *name = http_query(v->request, "image");
	struct order o = { .kind = ORDER_IMAGE_LOOK,
			   .name = text_copy(name ? name : "") };

	if (!name || !*name)
		visit_fail(v, 422, "image: which one?");
	else
		spawn_link_ask(&v->gateway->link, &o, v, on_image);
	order_done(&o);
}

static void registry_prefix(struct visit *v)
{
	AUTO_FREE char *json = text_format("{\"registry_prefix\":\"%.*s\"}",
					   (int)strlen(ORDER_BUILT) - 1, ORDER_BUILT);

	http_reply_json(v->request, 200, json); /* without the slash at its end */
}

/* --- the table ---------------------------------------------------------------- */

static const struct route list[] = {
	{ .method = "POST",
	  .path = "/start",
	  .access = ACCESS_OPERATOR,
	  .handle = start,
	  .body_max = 1u << 20 },
	{ .method = "GET",
	  .path = "/sessions/batch",
	  .access = ACCESS_OPERATOR,
	  .handle = sessions },
	{ .method = "GET",
	  .path = "/sessions/*",
	  .access = ACCESS_OPERATOR,
	  .handle = session },
	{ .method = "GET",
	  .path = "/list",
	  .access = ACCESS_OPERATOR,
	  .handle = list_all },
	{ .method = "GET",
	  .path = "/runtime/*",
	  .access = ACCESS_OPERATOR,
	  .handle = runtime },
	{ .method = "POST",
	  .path = "/pause",
	  .access = ACCESS_OPERATOR,
	  .handle = pause_it,
	  .body_max = 4096 },
	{ .method = "POST",
	  .path = "/resume",
	  .access = ACCESS_OPERATOR,
	  .handle = resume_it,
	  .body_max = 4096 },
	{ .method = "POST",
	  .path = "/stop",
	  .access = ACCESS_OPERATOR,
	  .handle = stop_it,
	  .body_max = 4096 },
	{ .method = "GET",
	  .path = "/image_exists",
	  .access = ACCESS_OPERATOR,
	  .handle = image_exists },
	{ .method = "GET",
	  .path = "/registry_prefix",
	  .access = ACCESS_OPERATOR,
	  .handle = registry_prefix },
	{ .method = "POST",
	  .path = "/build",
	  .access = ACCESS_OPERATOR,
	  .handle = image_build,
	  .form_max = IMAGE_BUILD_MAX,
	  .begin = image_build_begin,
	  .part = image_build_part,
	  .closed = image_build_closed },
	{ .method = "GET",
	  .path = "/build_status",
	  .access = ACCESS_OPERATOR,
	  .handle = image_build_status,
	  .closed = image_build_status_closed },
};

const struct routes runtime_routes = { .list = list, .count = ARRAY_LEN(list) };
