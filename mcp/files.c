/* The tools that are actions of the sandbox (docs/actions.md): files, and cells. */
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "mcp/job.h"
#include "mcp/tool_result.h"
#include "mcp/tools.h"

/* No action of the tools runs in the shell of this session, so relative paths begin at
 * the sandbox's own working directory. */
#define SESSION "mcp"

/* --- what is asked --------------------------------------------------------- */

static void begin(struct buffer *b, const char *action)
{
	json_write_begin(b);
	json_write_open(b, NULL, "{");
	json_write_text(b, "action", action);
	json_write_text(b, "session", SESSION);
	json_write_open(b, "args", "{");
}

/* Copies an argument of the tool, under another name. */
static void copy_as(struct buffer *b, const struct job *j, const char *key,
		    const char *name)
{
	struct json_at at;
	const char *text;
	uint64_t number;
	bool is_so;

	if (!json_member(&j->arguments, key, &at))
		return;
	if (json_string(&at, &text, NULL) == 0)
		json_write_text(b, name, text);
	else if (json_bool(&at, &is_so, NULL) == 0)
		json_write_bool(b, name, is_so);
	else if (json_uint(&at, &number, NULL) == 0)
		json_write_format(b, name, "%llu", (unsigned long long)number);
}

static void copy(struct buffer *b, const struct job *j, const char *key)
{
	copy_as(b, j, key, key);
}

static void send(struct job *j, struct buffer *b)
{
	struct hutch_error e;

	json_write_close(b, "}}");
	AUTO_FREE char *action = json_write_end(b);
	job_check_sent(j, hutch_act(j->box, action, 0, NULL, &e), &e);
}

void files_read(struct job *j)
{
	const uint64_t offset = json_member_uint(&j->arguments, "offset", 1);
	const uint64_t limit = json_member_uint(&j->arguments, "limit", 0);
	const uint64_t start = offset ? offset - 1 : 0;
	struct buffer b;

	begin(&b, "read");
	copy(&b, j, "path");
	if (start)
		json_write_number(&b, "start", (int64_t)start);
	if (limit)
		json_write_number(&b, "end", (int64_t)(start + limit));
	send(j, &b);
}

void files_write(struct job *j)
{
	struct buffer b;

	begin(&b, "write");
	copy(&b, j, "path");
	copy(&b, j, "content");
	send(j, &b);
}

void files_edit(struct job *j)
{
	struct buffer b;

	begin(&b, "edit");
	json_write_text(&b, "command", "str_replace");
	json_write_bool(&b, "relative", true);
	copy(&b, j, "path");
	copy(&b, j, "old_str");
	copy(&b, j, "new_str");
	send(j, &b);
}

void files_list(struct job *j)
{
	struct buffer b;

	begin(&b, "list");
	copy(&b, j, "path");
	copy(&b, j, "depth");
	copy(&b, j, "limit");
	send(j, &b);
}

void files_search(struct job *j)
{
	struct buffer b;

	begin(&b, "glob");
	copy(&b, j, "pattern");
	copy(&b, j, "path");
	copy(&b, j, "limit");
	send(j, &b);
}

void files_grep(struct job *j)
{
	struct buffer b;

	begin(&b, "grep");
	copy(&b, j, "pattern");
	copy(&b, j, "path");
	copy(&b, j, "include");
	copy(&b, j, "ignore_case");
	copy(&b, j, "limit");
	send(j, &b);
}

void files_run_code(struct job *j)
{
	struct json_at timeout;
	struct buffer b;
	double seconds;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "action", "run_ipython");
	json_write_text(&b, "session", SESSION);
	if (json_member(&j->arguments, "timeout", &timeout) &&
	    json_number(&timeout, &seconds, NULL) == 0)
		json_write_format(&b, "timeout", "%.3f",
				  seconds < 0.001 ? 0.001 : seconds);
	json_write_open(&b, "args", "{");
	copy(&b, j, "code");
	send(j, &b);
}

/* --- what is observed ------------------------------------------------------ */

/* The pictures of a cell. */
static void add_images(struct tool_result *r, const struct json_at *extras)
{
	struct json_at urls, item = { 0 };
	const char *url;

	if (!json_member(extras, "image_urls", &urls) || json_type(&urls) != JSON_ARRAY)
		return;
	while (json_step(&urls, &item))
		if (json_string(&item, &url, NULL) == 0)
			(void)tool_result_data_url(r, url, ""); /* others are left out */
}

static void tell(struct job *j, const struct json_at *root, const char *content)
{
	const char *path = json_member_string(&j->arguments, "path", "");
	struct json_at extras;
	const char *diff;
	struct tool_result r;

	tool_result_init(&r);
	if (j->tool == &tools[TOOL_READ_FILE] &&
	    tool_result_data_url(&r, content, path)) {
		json_write_text(&r.structured, "content", "");
	} else {
		tool_result_text(&r, content, strlen(content));
		tool_result_member(&r, "content", content, strlen(content));
	}
	(void)json_member(root, "extras", &extras); /* an observation has it */
	if (j->tool == &tools[TOOL_EDIT_FILE] &&
	    (diff = json_member_string(&extras, "diff", NULL)))
		tool_result_member(&r, "diff", diff, strlen(diff));
	if (j->tool == &tools[TOOL_RUN_CODE])
		add_images(&r, &extras);
	job_done(j, &r);
}

/* Whether the observation says that the action has failed. */
static bool has_failed(const struct json_at *root, const char *content)
{
	const char *kind = json_member_string(root, "observation", "error");

	return !strcmp(kind, "error") ||
	       (!strcmp(kind, "edit") && !strncmp(content, "ERROR:\n", 7));
}

void files_take(struct job *j, const struct hutch_message *m)
{
	struct json_at root;

	if (m->type != HUTCH_ANSWER)
		return;
	if (m->error.kind != HUTCH_OK) {
		job_fail_hutch(j, &m->error);
		return;
	}
	AUTO_JSON struct json *doc = json_parse(m->json, m->json_len, NULL);
	if (!doc) {
		job_fail(j, "the sandbox has sent an observation that cannot be read");
		return;
	}
	json_root(doc, "observation", &root);
	const char *content = json_member_string(&root, "content", "");
	if (j->tool == &tools[TOOL_WRITE_FILE] && !*content)
		content = json_member_string(&root, "message", "");
	if (has_failed(&root, content))
		job_fail(j, content);
	else
		tell(j, &root, content);
}
