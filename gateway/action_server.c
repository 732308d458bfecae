/* The action server of OpenHands 0.62, whose client sends actions and files to one sandbox.
 * Here it is no program inside: actions go to the executor. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/files.h"
#include "gateway/routes.h"
#include "policy/json/json.h"

#define BAD_ACTION "HUTCH$BAD_ACTION"

/* --- alive, server_info ------------------------------------------------------- */

static void alive(struct visit *v)
{
	if (!v->box || v->box->state == BOX_ENDED || v->box->state == BOX_FAILED)
		visit_fail(v, 404, v->box ? v->box->why.message : "Not Found");
	else if (v->box->state == BOX_STARTING)
		visit_fail(v, 503, "not initialized");
	else
		http_reply_json(v->request, 200, "{\"status\":\"ok\"}");
}

static void write_disk(struct buffer *b)
{
	struct statvfs st = { 0 };

	(void)statvfs("/", &st); /* zeros where it fails */
	const uint64_t total = (uint64_t)st.f_blocks * st.f_frsize,
		       left = (uint64_t)st.f_bavail * st.f_frsize, used = total - left;
	json_write_open(b, "disk", "{");
	json_write_number(b, "total", (int64_t)total);
	json_write_number(b, "used", (int64_t)used);
	json_write_number(b, "free", (int64_t)left);
	json_write_format(b, "percent", "%.1f",
			  total > 0 ? 100.0 * (double)used / (double)total : 0.0);
	json_write_close(b, "}");
}

static void on_stats(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	const int64_t now = clock_ms();
	const double uptime_s = (double)(now - v->gateway->started_ms) / 1000.0;
	double cpu_s = 0;
	int64_t memory = 0;
	struct buffer b;

	if (m->error.kind != HUTCH_OK) {
		visit_fail_box(v, &m->error);
		return;
	}
	(void)hutch_json_integer(m->json, "memory_bytes", &memory);
	(void)hutch_json_number(m->json, "cpu_s", &cpu_s);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_format(&b, "uptime", "%.3f", uptime_s);
	json_write_format(&b, "idle_time", "%.3f",
			  (double)(now - v->box->used_ms) / 1000.0);
	json_write_open(&b, "resources", "{");
	json_write_format(&b, "cpu_percent", "%.1f",
			  uptime_s > 0 ? 100.0 * cpu_s / uptime_s : 0.0);
	json_write_open(&b, "memory", "{");
	json_write_number(&b, "rss", memory);
	json_write_number(&b, "vms", memory);
	json_write_format(&b, "percent", "0.0");
	json_write_close(&b, "}");
	write_disk(&b);
	json_write_open(&b, "io", "{");
	json_write_number(&b, "read_bytes", 0);
	json_write_number(&b, "write_bytes", 0);
	json_write_close(&b, "}}}");
	visit_reply(v, &b);
}

static void ask_stats(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	void *tag = box_tag(b, v, on_stats);
	if (hutch_stats(b->handle, tag, &e) >= 0)
		return;
	box_untag(tag);
	visit_fail_box(v, &e);
}

static void server_info(struct visit *v)
{
	if (!v->box)
		visit_fail(v, 404, "Not Found");
	else
		box_reach(v->box, v, ask_stats);
}

/* --- actions ------------------------------------------------------------------ */

/* An action that hutch does not know, or whose arguments are wrong, is an error of HTTP in the
 * reference, and an observation in hutch. */
static bool is_bad_action(const struct hutch_message *m, char **ret_text)
{
	AUTO_FREE char *id = hutch_json_string(m->json, "extras.error_id");

	if (!id || strcmp(id, BAD_ACTION) != 0)
		return false;
	*ret_text = hutch_json_string(m->json, "content");
	return true;
}

static void fail_action(struct visit *v, const char *text)
{
	static const char prefix[] = "ERROR: ";
	const bool has_prefix = !strncmp(text, prefix, strlen(prefix));
	AUTO_FREE char *detail = text_format("Internal server error: %s",
					     text + (has_prefix ? strlen(prefix) : 0));

	visit_fail(v, 500, detail);
}

static void on_observation(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	AUTO_FREE char *text = NULL;

	if (m->error.kind == HUTCH_INVALID)
		fail_action(v, m->error.message);
	else if (m->error.kind != HUTCH_OK)
		visit_fail_box(v, &m->error);
	else if (is_bad_action(m, &text))
		fail_action(v, text ? text : "");
	else
		http_reply(v->request, 200, "application/json", m->json, m->json_len);
}

/* v->state: the action's text, owned. */
static void do_action(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	void *tag = box_tag(b, v, on_observation);
	if (hutch_act(b->handle, v->state, 0, tag, &e) >= 0)
		return;
	box_untag(tag);
	visit_fail_box(v, &e);
}

/* Reads the body's member `key`, an object; false: the request is answered. */
static bool read_object(struct visit *v, const char *key, char **ret)
{
	size_t len, at;
	const char *text = http_body(v->request, &len);
	struct err e;
	AUTO_JSON struct json *doc = json_parse(text, len, &e);
	struct json_at root, member;

	if (!doc) {
		visit_fail(v, 422, "Invalid request parameters");
		return false;
	}
	json_root(doc, "body", &root);
	if (!json_member(&root, key, &member) || json_type(&member) != JSON_OBJECT) {
		visit_fail(v, 422, "Invalid request parameters");
		return false;
	}
	const char *source = json_source(&member, &at);
	*ret = strndup(source, at);
	return *ret != NULL;
}

static void execute_action(struct visit *v)
{
	char *action;

	if (!read_object(v, "action", &action))
		return;
	v->state = action;
	box_use(v->box, v, do_action);
}

static void free_state(struct visit *v)
{
	free(v->state);
}

/* --- list_files --------------------------------------------------------------- */

static void on_listed(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	AUTO_FREE char *kind = hutch_json_string(m->json, "observation");
	AUTO_FREE char *names = hutch_json_string(m->json, "content");
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "[");
	/* The reference answers an empty list where the folder cannot be read. */
	char *rest = kind && !strcmp(kind, "list") ? names : NULL;
	for (char *name; rest && (name = strsep(&rest, "\n"));)
		if (*name)
			json_write_text(&b, NULL, name);
	json_write_close(&b, "]");
	visit_reply(v, &b);
}

static void do_list(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	void *tag = box_tag(b, v, on_listed);
	if (hutch_act(b->handle, v->state, 0, tag, &e) >= 0)
		return;
	box_untag(tag);
	visit_fail_box(v, &e);
}

static void list_files(struct visit *v)
{
	size_t len;
	const char *text = http_body(v->request, &len);
	AUTO_JSON struct json *doc = json_parse(text, len, NULL);
	struct json_at root;
	struct buffer b;

	if (doc)
		json_root(doc, "body", &root);
	if (!doc || json_type(&root) != JSON_OBJECT) {
		visit_fail(v, 500,
			   "An unexpected error occurred. Please try again later.");
		return;
	}
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "action", "list");
	/* A session of its own: actions of one session wait for each other. */
	json_write_text(&b, "session", "files");
	json_write_open(&b, "args", "{");
	json_write_text(&b, "path", json_member_string(&root, "path", "."));
	json_write_close(&b, "}}");
	v->state = json_write_end(&b);
	box_use(v->box, v, do_list);
}

/* --- VS Code ------------------------------------------------------------------ */

/* Returns the token of the editor's address, ...?tkn=TOKEN&...; NULL: there is none. */
static char *token_of(const char *info)
{
	AUTO_JSON struct json *doc = json_parse(info, strlen(info), NULL);
	struct json_at root, list, item = { 0 };

	if (!doc)
		return NULL;
	json_root(doc, "info", &root);
	if (!json_member(&root, "plugins", &list))
		return NULL;
	while (json_step(&list, &item)) {
		const char *url = json_member_string(&item, "url", "");
		const char *token = strstr(url, "tkn=");

		if (!strcmp(json_member_string(&item, "name", ""), "vscode") && token)
			return strndup(token + 4, strcspn(token + 4, "&"));
	}
	return NULL;
}

static void on_info(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct buffer b;

	if (m->error.kind != HUTCH_OK) {
		visit_fail_box(v, &m->error);
		return;
	}
	AUTO_FREE char *token = token_of(m->json);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "token", token);
	json_write_close(&b, "}");
	visit_reply(v, &b);
}

static void ask_info(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct hutch_error e;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	void *tag = box_tag(b, v, on_info);
	if (hutch_info(b->handle, tag, &e) >= 0)
		return;
	box_untag(tag);
	visit_fail_box(v, &e);
}

static void connection_token(struct visit *v)
{
	box_reach(v->box, v, ask_info);
}

/* --- the table ---------------------------------------------------------------- */

static const struct route list[] = {
	{ .method = "GET", .path = "/*/alive", .access = ACCESS_OPEN, .handle = alive },
	{ .method = "GET",
	  .path = "/*/server_info",
	  .access = ACCESS_OPEN,
	  .handle = server_info },
	{ .method = "POST",
	  .path = "/*/execute_action",
	  .access = ACCESS_BOX,
	  .handle = execute_action,
	  .body_max = GATEWAY_BODY_MAX,
	  .closed = free_state },
	{ .method = "POST",
	  .path = "/*/list_files",
	  .access = ACCESS_BOX,
	  .handle = list_files,
	  .body_max = 65536,
	  .closed = free_state },
	{ .method = "POST",
	  .path = "/*/upload_file",
	  .access = ACCESS_BOX,
	  .handle = upload,
	  .form_max = UPLOAD_MAX,
	  .begin = upload_begin,
	  .part = upload_part,
	  .closed = upload_closed },
	{ .method = "GET",
	  .path = "/*/download_files",
	  .access = ACCESS_BOX,
	  .handle = download,
	  .closed = download_closed },
	{ .method = "GET",
	  .path = "/*/vscode/connection_token",
	  .access = ACCESS_BOX,
	  .handle = connection_token },
};

const struct routes action_server_routes = { .list = list, .count = ARRAY_LEN(list) };
