#include "mcp/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "mcp/batch.h"
#include "mcp/consent.h"
#include "mcp/maker.h"
#include "mcp/reply.h"
#include "mcp/tool_result.h"
#include "mcp/server.h"
#include "mcp/setup.h"
#include "mcp/tools.h"

#define RETRY_MS     20 /* between two looks for a sandbox that is being made */
#define RETRIES	     500
#define PROGRESS_MS  250 /* between two notes about progress */
#define PROGRESS_MAX 200 /* bytes of the text of one */

static void attach(struct job *j);

/* --- the list of calls ----------------------------------------------------- */

static void on_late(void *context)
{
	struct job *j = context;

	if (!j->is_retrying) {
		j->tool->late(j);
		return;
	}
	j->is_retrying = false;
	attach(j);
}

static struct job *job_new(struct server *s, struct message *m, struct batch *batch)
{
	struct job *j = mem_zeroed(1, sizeof(*j));

	*j = (struct job){ .server = s,
			   .next = s->jobs,
			   .id = m->id,
			   .token = m->token,
			   .batch = batch,
			   .is_modern = m->version,
			   .doc = m->doc,
			   .params = m->params,
			   .watch.fd = -1 };
	j->can_ask = m->version ? m->can_ask : s->can_ask;
	j->timer = (struct timer){ .context = j, .expired = on_late };
	m->id = m->token = NULL;
	m->doc = NULL;
	s->jobs = j;
	s->job_count++;
	return j;
}

static void close_box(struct job *j)
{
	if (j->watch.fd >= 0)
		loop_unwatch(&j->server->loop, &j->watch);
	j->watch.fd = -1;
	hutch_close(j->box);
	j->box = NULL;
	j->is_ready = false;
}

static void leave_program(struct job *j)
{
	if (!j->program)
		return;
	j->program->context = NULL; /* its end concerns no call */
	command_kill(j->program);
	j->program = NULL;
}

void job_free(struct job *j)
{
	struct job **at = &j->server->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	j->server->job_count--;
	close_box(j);
	leave_program(j);
	loop_stop(&j->server->loop, &j->timer);
	capture_done(&j->out);
	capture_done(&j->err);
	json_free(j->doc);
	free(j->id);
	free(j->token);
	free(j->name);
	free(j->exit);
	free(j);
}

struct job *job_find(struct server *s, const char *id)
{
	struct job *j = s->jobs;

	while (j && strcmp(j->id, id) != 0)
		j = j->next;
	return j;
}

/* Sends an answer, or none, and frees the call. */
static void answer(struct job *j, char *text)
{
	server_send(j->server, j->batch, text);
	job_free(j);
}

void job_cancel(struct server *s, const char *id)
{
	struct job *j = job_find(s, id);

	if (j)
		answer(j, NULL);
}

/* --- its result ------------------------------------------------------------ */

void job_done(struct job *j, struct tool_result *r)
{
	AUTO_FREE char *members = tool_result_end(r);

	answer(j, reply_result(j->id, members, j->is_modern, "complete"));
}

void job_fail(struct job *j, const char *text)
{
	AUTO_FREE char *members = tool_result_failure(text);

	answer(j, reply_result(j->id, members, j->is_modern, "complete"));
}

static void fail_with(struct job *j, const char *text, const char *remedy)
{
	AUTO_FREE char *whole =
		text_format("%s%s%s", text, *remedy ? "\nhint: " : "", remedy);

	job_fail(j, whole);
}

void job_fail_err(struct job *j, const struct err *e)
{
	fail_with(j, e->text, e->remedy);
}

void job_fail_hutch(struct job *j, const struct hutch_error *e)
{
	fail_with(j, e->message, e->remedy);
}

void job_check_sent(struct job *j, int64_t number, const struct hutch_error *e)
{
	if (number < 0)
		job_fail_hutch(j, e);
}

/* --- progress -------------------------------------------------------------- */

/* Finds the last line that is not empty. */
static const char *last_line(const char *text, size_t len, size_t *ret_len)
{
	size_t start;

	while (len > 0 && (unsigned char)text[len - 1] <= ' ')
		len--;
	for (start = len; start > 0 && len - start < PROGRESS_MAX; start--)
		if (text[start - 1] == '\n' || text[start - 1] == '\r')
			break;
	*ret_len = len - start;
	return text + start;
}

void job_progress(struct job *j, const struct hutch_message *m)
{
	const int64_t now = j->server->now_ms;
	struct buffer b;
	size_t len;

	j->progress += m->data_len;
	if (!j->token || !m->data_len || (j->told_ms && now - j->told_ms < PROGRESS_MS))
		return;
	j->told_ms = now;
	const char *line = last_line(m->data, m->data_len, &len);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_raw(&b, "progressToken", j->token);
	json_write_format(&b, "progress", "%" PRIu64, j->progress);
	json_write_bytes(&b, "message", line, len);
	json_write_close(&b, "}");
	AUTO_FREE char *params = json_write_end(&b);
	server_send(j->server, NULL,
		    reply_notification("notifications/progress", params));
}

/* --- its sandbox ----------------------------------------------------------- */

static void tell_made(struct job *j)
{
	struct tool_result r;

	tool_result_init(&r);
	json_write_text(&r.structured, "sandbox_id", j->name);
	AUTO_FREE char *text = text_format("The sandbox %s is ready.", j->name);
	tool_result_text(&r, text, strlen(text));
	job_done(j, &r);
}

/* Whether the sandbox is the default one, and not there yet, or not any more. */
static bool is_to_be_made(const struct job *j, const struct hutch_message *m)
{
	const bool is_absent = m->error.kind == HUTCH_NOT_FOUND ||
			       m->error.kind == HUTCH_DISCONNECTED;

	return !j->is_ready && is_absent && (j->tool->flags & TOOL_MAKES) &&
	       !j->has_waited && (j->is_default || !strcmp(j->name, j->server->name));
}

/* Whether another server of the same command line is making the default sandbox: it
 * exists, and has no socket yet. */
static bool is_being_made(const struct job *j, const struct hutch_message *m)
{
	return !j->is_ready && m->error.kind == HUTCH_SYSTEM && j->is_default &&
	       j->retries < RETRIES;
}

/* Looks for the sandbox again in a moment.  Nothing could be waited for instead that also
 * tells that the other server has failed. */
static void retry(struct job *j)
{
	close_box(j);
	j->retries++;
	j->is_retrying = true;
	loop_start(&j->server->loop, &j->timer, RETRY_MS);
}

static void take(struct job *j, const struct hutch_message *m)
{
	if (m->type == HUTCH_READY) {
		j->is_ready = true;
		if (j->makes)
			tell_made(j);
	} else if (is_to_be_made(j, m)) {
		close_box(j);
		j->waits_for_maker = true;
		maker_start(j->server);
	} else if (is_being_made(j, m)) {
		retry(j);
	} else if (j->makes || m->type == HUTCH_ENDED) {
		job_fail_hutch(j, &m->error);
	} else {
		j->tool->take(j, m);
	}
}

/* Takes one message: the call may be gone after it. */
static void on_message(void *context, uint32_t events)
{
	struct job *j = context;
	struct hutch_message *m;
	struct hutch_error e;

	(void)events;
	const int rc = hutch_next(j->box, 0, &m, &e);
	if (rc < 0)
		job_fail_hutch(j, &e);
	if (rc <= 0)
		return;
	take(j, m);
	hutch_message_free(m);
}

/* Watches the handle.  Returns false after failing. */
static bool watch_box(struct job *j)
{
	struct hutch_error e;
	struct err local;
	const int fd = hutch_fd(j->box, &e);

	if (fd < 0) {
		job_fail_hutch(j, &e);
		return false;
	}
	j->watch = (struct watch){ fd, j, on_message };
	if (loop_watch(&j->server->loop, &j->watch, EPOLLIN, &local) == 0)
		return true;
	job_fail_err(j, &local);
	return false;
}

static struct hutch_how how(const struct job *j, const char *verb)
{
	return (struct hutch_how){ .size = sizeof(struct hutch_how),
				   .program = j->server->setup->hutch,
				   .verb = verb,
				   .notes = verb ? 2 : 0 };
}

static void attach(struct job *j)
{
	const struct hutch_how existing = how(j, NULL);
	struct hutch_error e;

	if (hutch_attach(j->name, &existing, &j->box, &e) < 0)
		job_fail_hutch(j, &e);
	else if (watch_box(j))
		j->tool->start(j);
}

void job_go_on(struct job *j, const struct hutch_error *e)
{
	j->waits_for_maker = false;
	j->has_waited = true;
	if (e) {
		job_fail_hutch(j, e);
		return;
	}
	if (j->is_default) {
		free(j->name);
		j->name = text_copy(j->server->name);
	}
	attach(j);
}

void job_make(struct job *j, const char *verb, const char *source)
{
	const struct hutch_how making = how(j, verb);
	const char *suffix = json_member_string(&j->arguments, "name", NULL);
	struct list words = { 0 };
	struct hutch_error e;
	struct err local;
	char *name = setup_new_name(j->server->setup, suffix, &local);

	if (!name) {
		job_fail_err(j, &local);
		return;
	}
	setup_words(j->server->setup, source, name, &words);
	free(j->name);
	j->name = name;
	j->makes = true;
	const int rc =
		hutch_create((const char *const *)words.items, &making, &j->box, &e);
	list_done(&words);
	if (rc < 0)
		job_fail_hutch(j, &e);
	else
		(void)watch_box(j); /* it has failed by itself */
}

size_t job_making(const struct server *s)
{
	size_t count = s->maker != NULL;

	for (const struct job *j = s->jobs; j; j = j->next)
		count += j->makes;
	return count;
}

bool job_is_making(const struct server *s, const char *name)
{
	bool is_so = s->maker && !strcmp(name, s->name);

	for (const struct job *j = s->jobs; j; j = j->next)
		is_so |= j->makes && !strcmp(name, j->name);
	return is_so;
}

/* --- programs -------------------------------------------------------------- */

static void on_ended(void *context, struct command *p)
{
	struct job *j = context;

	if (!j)
		return;
	j->program = NULL;
	j->tool->ended(j, p);
}

void job_run(struct job *j, const struct list *words)
{
	struct list argv = { 0 };
	struct err e;

	list_add(&argv, "hutch");
	for (size_t i = 0; i < words->count; i++)
		list_add(&argv, words->items[i]);
	j->program = command_start(&j->server->loop, j->server->setup->hutch, argv.items,
				   -1, j, on_ended, &e);
	list_done(&argv);
	if (!j->program)
		job_fail_err(j, &e);
}

bool job_has_succeeded(struct job *j, const struct command *p)
{
	if (p->exit_code == 0)
		return true;
	AUTO_FREE char *text = text_format("%.*s", (int)buffer_len(&p->complaint),
					   (const char *)buffer_data(&p->complaint));
	job_fail(j, *text ? text : "hutch has failed without a word");
	return false;
}

/* --- its begin ------------------------------------------------------------- */

/* Finds the sandbox that the call is for. */
static bool find_name(struct job *j)
{
	const char *said = json_member_string(&j->arguments, "sandbox_id", NULL);

	if (said && !setup_has_sandbox(j->server->setup, said)) {
		job_fail(j, "sandbox_id: this server has made no sandbox of that name; "
			    "sandbox_list has the names");
		return false;
	}
	j->is_default = !said;
	j->name = text_copy(said ? said : j->server->name);
	return true;
}

void job_start(struct server *s, struct message *m, struct batch *batch)
{
	const char *name = json_member_string(&m->params, "name", "");
	struct job *j = job_new(s, m, batch);
	struct err e;

	j->tool = tools_find(name, s->setup->tools);
	(void)json_member(&j->params, "arguments", &j->arguments);
	if (s->job_count > SERVER_JOBS_MAX)
		job_fail(j, "64 calls are under way; wait for one of them");
	else if (tools_check(j->tool, j, &e) < 0)
		job_fail_err(j, &e);
	else if (!find_name(j))
		return;
	else if (j->tool->flags & TOOL_IN_BOX)
		attach(j);
	else
		j->tool->start(j);
}

void job_answered(struct job *j, bool is_allowed)
{
	j->question = 0;
	if (is_allowed)
		j->tool->answered(j);
	else
		job_fail(j, "The user has not allowed this.");
}

/* --- subscriptions --------------------------------------------------------- */

/* Writes the parameter that says which subscription a message is of. */
static char *subscription_meta(const struct job *j)
{
	return text_format("\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}",
			   j->id);
}

void job_listen(struct server *s, struct message *m, struct batch *batch)
{
	struct job *j = job_new(s, m, batch);

	if (s->job_count > SERVER_JOBS_MAX) {
		answer(j, reply_error(j->id, MESSAGE_BAD,
				      "64 requests are under way; wait for one of them",
				      NULL));
		return;
	}
	/* The list of tools never changes, so there is nothing to subscribe to. */
	AUTO_FREE char *meta = subscription_meta(j);
	AUTO_FREE char *params = text_format("{%s,\"notifications\":{}}", meta);
	server_send(
		s, NULL,
		reply_notification("notifications/subscriptions/acknowledged", params));
}

void job_end_subscription(struct job *j)
{
	AUTO_FREE char *meta = subscription_meta(j);

	answer(j, text_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":"
			      "{\"resultType\":\"complete\",%s}}",
			      j->id, meta));
}
