/* The tools about whole sandboxes: what lives, what is kept of them, what the user
 * allows. */
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "mcp/job.h"
#include "mcp/consent.h"
#include "mcp/tool_result.h"
#include "mcp/server.h"
#include "mcp/setup.h"
#include "mcp/tools.h"
#include "policy/egress/egress_rule.h"

/* Sends a result whose one member has the text. */
static void tell(struct job *j, const char *key, const char *text, size_t len)
{
	struct tool_result r;

	tool_result_init(&r);
	tool_result_text(&r, text, len);
	tool_result_member(&r, key, text, len);
	job_done(j, &r);
}

/* --- they live ------------------------------------------------------------- */

/* Lists the sandboxes that live, for boxes_list_ended() and boxes_make_ended(). */
void boxes_list(struct job *j)
{
	struct list words = { 0 };

	list_add(&words, "ps");
	list_add(&words, "--json");
	job_run(j, &words);
	list_done(&words);
}

/* Reads the list.  NULL, after failing. */
static struct json *read_list(struct job *j, const struct command *p)
{
	struct json *doc;
	struct err e;

	if (!job_has_succeeded(j, p))
		return NULL;
	doc = json_parse((const char *)buffer_data(&p->said), buffer_len(&p->said), &e);
	if (!doc)
		job_fail_err(j, &e);
	return doc;
}

/* Makes a sandbox, unless there are too many: a model that goes round in circles would
 * fill the machine with them. */
void boxes_make_ended(struct job *j, const struct command *p)
{
	const char *snapshot = json_member_string(&j->arguments, "snapshot", NULL);
	AUTO_JSON struct json *doc = read_list(j, p);
	struct json_at list, item = { 0 };
	size_t count = job_making(j->server);

	if (!doc)
		return;
	json_root(doc, "list", &list);
	while (json_step(&list, &item)) {
		const char *name = json_member_string(&item, "name", "");

		count += setup_has_sandbox(j->server->setup, name) &&
			 !job_is_making(j->server, name);
	}
	if (count >= SETUP_SANDBOXES_MAX) {
		job_fail(j, "this server has 32 sandboxes; end one of them first");
	} else if (j->tool == &tools[TOOL_FORK]) {
		AUTO_FREE char *source = text_copy(snapshot ? snapshot : j->name);
		job_make(j, "fork", source);
	} else {
		job_make(j, "create", NULL);
	}
}

static void write_box(struct job *j, const struct json_at *at, struct buffer *rows,
		      struct buffer *text)
{
	const char *name = json_member_string(at, "name", "");
	const char *state = json_member_string(at, "state", "");

	if (!setup_has_sandbox(j->server->setup, name))
		return;
	json_write_open(rows, NULL, "{");
	json_write_text(rows, "sandbox_id", name);
	json_write_text(rows, "state", state);
	json_write_text(rows, "created", json_member_string(at, "created", NULL));
	json_write_bool(rows, "is_default", !strcmp(name, j->server->name));
	json_write_close(rows, "}");
	AUTO_FREE char *line = text_format("%s %s\n", name, state);
	(void)buffer_append(text, line, strlen(line)); /* the buffer has no bound */
}

void boxes_list_ended(struct job *j, const struct command *p)
{
	struct json_at list, item = { 0 };
	struct buffer text;
	struct tool_result r;
	AUTO_JSON struct json *doc = read_list(j, p);

	if (!doc)
		return;
	buffer_init(&text, SIZE_MAX);
	tool_result_init(&r);
	json_write_open(&r.structured, "sandboxes", "[");
	json_root(doc, "list", &list);
	while (json_step(&list, &item))
		write_box(j, &item, &r.structured, &text);
	json_write_close(&r.structured, "]");
	tool_result_text(&r, buffer_data(&text), buffer_len(&text));
	buffer_done(&text);
	job_done(j, &r);
}

void boxes_end(struct job *j)
{
	struct hutch_error e;

	job_check_sent(j, hutch_kill(j->box, NULL, &e), &e);
}

void boxes_end_take(struct job *j, const struct hutch_message *m)
{
	if (m->type != HUTCH_ANSWER)
		return;
	/* The connection may be closed before the answer comes. */
	if (m->error.kind == HUTCH_OK ||
	    (j->is_ready && m->error.kind == HUTCH_DISCONNECTED))
		tell(j, "sandbox_id", j->name, strlen(j->name));
	else
		job_fail_hutch(j, &m->error);
}

/* --- what they have written ------------------------------------------------ */

void boxes_snapshot(struct job *j)
{
	struct list words = { 0 };

	list_add(&words, "snapshot");
	list_add(&words, "--quiet");
	list_add(&words, j->name);
	job_run(j, &words);
	list_done(&words);
}

/* Sends what a program has printed. */
static void tell_said(struct job *j, const struct command *p, const char *key)
{
	size_t len = buffer_len(&p->said);
	const char *text = (const char *)buffer_data(&p->said);

	if (!job_has_succeeded(j, p))
		return;
	while (len > 0 && text[len - 1] == '\n')
		len--;
	tell(j, key, text, len);
}

void boxes_snapshot_ended(struct job *j, const struct command *p)
{
	tell_said(j, p, "snapshot");
}

void boxes_fork(struct job *j)
{
	const char *snapshot = json_member_string(&j->arguments, "snapshot", NULL);

	if (snapshot && !setup_has_snapshot(j->server->setup, snapshot)) {
		job_fail(j, "snapshot: this server has made no snapshot of that name");
		return;
	}
	boxes_list(j);
}

/* Adds the paths that the verb is about.  They are operands, whatever they begin with. */
static void add_paths(const struct job *j, struct list *words)
{
	struct json_at paths, item = { 0 };
	const char *path;

	list_add(words, "--");
	list_add(words, j->name);
	if (json_member(&j->arguments, "paths", &paths))
		while (json_step(&paths, &item) && json_string(&item, &path, NULL) == 0)
			list_add(words, path);
}

void boxes_diff(struct job *j)
{
	struct list words = { 0 };
	struct json_at patch;
	bool is_patch = false;

	if (json_member(&j->arguments, "patch", &patch))
		(void)json_bool(&patch, &is_patch, NULL); /* tools_check() has seen it */
	list_add(&words, "diff");
	if (is_patch)
		list_add(&words, "--patch");
	add_paths(j, &words);
	job_run(j, &words);
	list_done(&words);
}

void boxes_diff_ended(struct job *j, const struct command *p)
{
	tell_said(j, p, "content");
}

/* Asks about all paths that are named, each as JSON would quote it: the model has written
 * them. */
void boxes_apply(struct job *j)
{
	struct json_at paths, item = { 0 };
	struct buffer b;
	const char *path;

	json_write_begin(&b);
	if (json_member(&j->arguments, "paths", &paths))
		while (json_step(&paths, &item) && json_string(&item, &path, NULL) == 0)
			json_write_text(&b, NULL, path);
	AUTO_FREE char *named = json_write_end(&b);
	AUTO_FREE char *question = text_format(
		"Make the changes of sandbox %s%s%.2000s in your own folders? "
		"hutch diff --patch %s shows them.",
		j->name, *named ? " at " : "", named, j->name);
	AUTO_FREE char *command = text_format("hutch apply %s", j->name);
	if (strlen(named) > 2000)
		job_fail(j, "paths: name fewer; a user cannot judge so many");
	else
		consent_ask(j, question, command);
}

void boxes_apply_answered(struct job *j)
{
	struct list words = { 0 };

	list_add(&words, "apply");
	list_add(&words, "--yes");
	add_paths(j, &words);
	job_run(j, &words);
	list_done(&words);
}

void boxes_apply_ended(struct job *j, const struct command *p)
{
	tell_said(j, p, "content");
}

/* --- what the user allows -------------------------------------------------- */

enum { FOUND = 1, ADDED };

/* The rule is checked before the user is asked, so that the question holds nothing but a
 * host, and so is the sandbox. */
void boxes_allow(struct job *j)
{
	const char *host = json_member_string(&j->arguments, "host", "");
	struct egress_rule rule;
	struct hutch_error e;
	struct err local;

	if (egress_rule_parse(&rule, EGRESS_ALLOW, host, &local) < 0) {
		job_fail_err(j, &local);
		return;
	}
	egress_rule_done(&rule);
	job_check_sent(j, hutch_info(j->box, JOB_TAG(FOUND), &e), &e);
}

/* Returns what the rule allows, in words that a user cannot misread, allocated. */
static char *describe(const char *host)
{
	static const char *const words[] = {
		[EGRESS_NAME] = "",
		[EGRESS_BELOW] = "all names of ",
		[EGRESS_ANY] = "every public host there is, ",
		[EGRESS_NETWORK] = "the addresses ",
		[EGRESS_LOOPBACK] = "a service of this very machine, ",
	};
	struct egress_rule rule;

	if (egress_rule_parse(&rule, EGRESS_ALLOW, host, NULL) < 0)
		return text_copy(host);
	const char *front = words[rule.kind];
	egress_rule_done(&rule);
	return text_format("%s%s", front, host);
}

static void ask(struct job *j, const char *info)
{
	const char *host = json_member_string(&j->arguments, "host", "");
	AUTO_FREE char *mode = hutch_json_string(info, "network.mode");

	if (!mode || strcmp(mode, "allow") != 0) {
		job_fail(j, "the network of this sandbox has no rules that could allow a "
			    "host; hutch mcp --network allow makes such sandboxes");
		return;
	}
	AUTO_FREE char *target = describe(host);
	AUTO_FREE char *question = text_format(
		"May sandbox %s connect to %s? A program in it can send there what "
		"it has read.",
		j->name, target);
	AUTO_FREE char *command = text_format("hutch net %s allow HOST", j->name);
	consent_ask(j, question, command);
}

void boxes_allow_answered(struct job *j)
{
	const char *host = json_member_string(&j->arguments, "host", "");
	struct hutch_request request = { .size = sizeof(request), .method = "net.add" };
	struct hutch_error e;
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_open(&b, "rule", "{");
	json_write_text(&b, "allow", host);
	json_write_close(&b, "}}");
	AUTO_FREE char *params = json_write_end(&b);
	request.params = params;
	job_check_sent(j, hutch_call(j->box, &request, JOB_TAG(ADDED), &e), &e);
}

void boxes_allow_take(struct job *j, const struct hutch_message *m)
{
	static const char text[] = "The user has allowed it.";

	if (m->type != HUTCH_ANSWER)
		return;
	if (m->error.kind != HUTCH_OK)
		job_fail_hutch(j, &m->error);
	else if (m->tag == JOB_TAG(FOUND))
		ask(j, m->json);
	else
		tell(j, "content", text, strlen(text));
}
