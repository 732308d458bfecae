#include "mcp/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "mcp/batch.h"
#include "mcp/job.h"
#include "mcp/maker.h"
#include "mcp/message.h"
#include "mcp/reply.h"
#include "mcp/setup.h"
#include "mcp/tools.h"

#define MODERN	      "2026-07-28"
#define NEWEST_LEGACY "2025-11-25"
#define WITH_BATCHES  "2025-03-26"
#define OLDEST_ASKING "2025-06-18"
#define VERSIONS                                                                      \
	"[\"" MODERN "\",\"" NEWEST_LEGACY "\",\"" OLDEST_ASKING "\",\"" WITH_BATCHES \
	"\",\"2024-11-05\"]"
#define INSTRUCTIONS                                                                     \
	"Tools that work in a sandbox on the user's machine: no file, no host of the "   \
	"network and no variable of the user is there but those that the user has "      \
	"named.  Without sandbox_id a tool works in the default sandbox, which is made " \
	"when it is first needed and lasts; files stay there between calls, shells do "  \
	"not.  A refused host or path is named in the result: ask the user for it "      \
	"instead of trying again."

/* The list of tools changes only with the command line, so clients may keep it. */
#define TTL_MS 3600000

static const char *const legacy_versions[] = { NEWEST_LEGACY, OLDEST_ASKING, WITH_BATCHES,
					       "2024-11-05" };

/* --- its output ------------------------------------------------------------ */

static void write_line(struct server *s, const char *text)
{
	const size_t len = strlen(text);

	/* A client that reads nothing while it asks for that much is broken. */
	if (buffer_len(&s->out.out) + len + 1 > SERVER_OUT_MAX ||
	    !buffer_append(&s->out.out, text, len) ||
	    !buffer_append(&s->out.out, "\n", 1))
		s->is_broken = true;
}

void server_send(struct server *s, struct batch *batch, char *text)
{
	AUTO_FREE char *mine = text;
	AUTO_FREE char *whole = batch ? batch_add(batch, text) : NULL;

	if (whole && *whole)
		write_line(s, whole);
	else if (!batch && text)
		write_line(s, text);
}

static void flush(struct server *s, bool is_ready)
{
	struct err e;

	if (fd_writer_flush(&s->out, is_ready, &e) < 0)
		s->is_broken = true;
}

/* --- requests -------------------------------------------------------------- */

static void refuse(struct server *s, const struct message *m, struct batch *batch,
		   const char *data)
{
	server_send(s, batch, reply_error(m->id, m->code, m->problem, data));
}

static void fail(struct server *s, struct message *m, struct batch *batch, int code,
		 const char *problem)
{
	m->code = code;
	(void)snprintf(m->problem, sizeof(m->problem), "%s", problem);
	refuse(s, m, batch, NULL);
}

static void answer(struct server *s, const struct message *m, struct batch *batch,
		   const char *members)
{
	server_send(s, batch, reply_result(m->id, members, m->version, "complete"));
}

/* Writes what a modern client may keep for how long. */
static void write_cache(struct buffer *b, const struct message *m)
{
	if (!m->version)
		return;
	json_write_number(b, "ttlMs", TTL_MS);
	json_write_text(b, "cacheScope", "private");
}

static void write_about(struct buffer *b)
{
	json_write_raw(b, "capabilities", "{\"tools\":{}}");
	json_write_text(b, "instructions", INSTRUCTIONS);
}

static void initialize(struct server *s, struct message *m, struct batch *batch)
{
	const char *asked = json_member_string(&m->params, "protocolVersion", NULL);
	struct json_at capabilities;
	struct buffer b;

	if (!asked || batch) {
		fail(s, m, batch, MESSAGE_BAD_PARAMS,
		     batch ? "initialize: it may not be in a batch"
			   : "protocolVersion: a string was expected");
		return;
	}
	s->version = NEWEST_LEGACY;
	for (size_t i = 0; i < ARRAY_LEN(legacy_versions); i++)
		if (!strcmp(asked, legacy_versions[i]))
			s->version = legacy_versions[i];
	/* The revisions sort by their names, and older ones know no such question. */
	s->can_ask = json_member(&m->params, "capabilities", &capabilities) &&
		     message_can_ask(&capabilities) &&
		     strcmp(s->version, OLDEST_ASKING) >= 0;
	json_write_begin(&b);
	json_write_text(&b, "protocolVersion", s->version);
	write_about(&b);
	reply_server_info(&b, "serverInfo");
	AUTO_FREE char *members = json_write_end(&b);
	m->version = NULL;
	answer(s, m, batch, members);
}

static void discover(struct server *s, struct message *m, struct batch *batch)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_raw(&b, "supportedVersions", VERSIONS);
	write_about(&b);
	write_cache(&b, m);
	AUTO_FREE char *members = json_write_end(&b);
	answer(s, m, batch, members);
}

static void ping(struct server *s, struct message *m, struct batch *batch)
{
	answer(s, m, batch, "");
}

static void list_tools(struct server *s, struct message *m, struct batch *batch)
{
	struct json_at cursor;
	struct buffer b;

	if (json_member(&m->params, "cursor", &cursor)) {
		fail(s, m, batch, MESSAGE_BAD_PARAMS,
		     "cursor: there is none, since all tools are on one page");
		return;
	}
	json_write_begin(&b);
	tools_write(&b, s->setup->tools);
	write_cache(&b, m);
	AUTO_FREE char *members = json_write_end(&b);
	answer(s, m, batch, members);
}

static void call_tool(struct server *s, struct message *m, struct batch *batch)
{
	const char *name = json_member_string(&m->params, "name", NULL);

	if (!name)
		fail(s, m, batch, MESSAGE_BAD_PARAMS, "name: a string was expected");
	else if (!tools_find(name, s->setup->tools))
		fail(s, m, batch, MESSAGE_BAD_PARAMS, "name: there is no such tool");
	else
		job_start(s, m, batch);
}

enum { LEGACY = 1, MODERN_TOO = 2, EARLY = 4 };

/* EARLY: a legacy client may send it before `initialize`. */
static const struct {
	const char *name;
	unsigned eras;
	void (*handle)(struct server *s, struct message *m, struct batch *batch);
} methods[] = {
	{ "initialize", LEGACY | EARLY, initialize },
	{ "ping", LEGACY | EARLY, ping },
	{ "server/discover", MODERN_TOO, discover },
	{ "tools/list", LEGACY | MODERN_TOO, list_tools },
	{ "tools/call", LEGACY | MODERN_TOO, call_tool },
	{ "subscriptions/listen", MODERN_TOO, job_listen },
};

/* Checks what each modern request has to say of itself.  Returns false if it was
 * answered. */
static bool is_modern_whole(struct server *s, struct message *m, struct batch *batch)
{
	if (strcmp(m->version, MODERN) != 0) {
		struct buffer b;

		json_write_begin(&b);
		json_write_open(&b, NULL, "{");
		json_write_raw(&b, "supported", VERSIONS);
		json_write_text(&b, "requested", m->version);
		json_write_close(&b, "}");
		AUTO_FREE char *data = json_write_end(&b);
		server_send(s, batch,
			    reply_error(m->id, MESSAGE_NO_VERSION,
					"Unsupported protocol version", data));
		return false;
	}
	if (m->has_capabilities)
		return true;
	fail(s, m, batch, MESSAGE_BAD_PARAMS,
	     "_meta: io.modelcontextprotocol/clientCapabilities is missing");
	return false;
}

static void request(struct server *s, struct message *m, struct batch *batch)
{
	/* `initialize` is legacy whatever stands in its _meta. */
	const bool is_modern = m->version && strcmp(m->method, "initialize") != 0;
	const unsigned era = is_modern ? MODERN_TOO : LEGACY;

	if (job_find(s, m->id)) {
		fail(s, m, batch, MESSAGE_BAD, "id: a request with this id is under way");
		return;
	}
	if (is_modern && !is_modern_whole(s, m, batch))
		return;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(m->method, methods[i].name) != 0)
			continue;
		if (!is_modern && !s->version && !(methods[i].eras & EARLY))
			fail(s, m, batch, MESSAGE_BAD_PARAMS,
			     "_meta: io.modelcontextprotocol/protocolVersion is missing, "
			     "and there was no initialize");
		else if (methods[i].eras & era)
			methods[i].handle(s, m, batch);
		else
			break;
		return;
	}
	fail(s, m, batch, MESSAGE_NO_METHOD, "method: there is no such method");
}

static void notification(struct server *s, const struct message *m)
{
	struct json_at id;

	/* All others change nothing here. */
	if (strcmp(m->method, "notifications/cancelled") != 0 ||
	    !json_member(&m->params, "requestId", &id))
		return;
	AUTO_FREE char *word = message_word(&id);
	if (word)
		job_cancel(s, word);
}

/* --- messages -------------------------------------------------------------- */

static void take_batch(struct server *s, struct message *m, struct batch *outer)
{
	struct json_at item = { 0 };
	size_t count = 0, len;

	while (json_step(&m->root, &item))
		count++;
	if (outer || !s->version || strcmp(s->version, WITH_BATCHES) != 0)
		fail(s, m, outer, MESSAGE_BAD,
		     "an array of messages is of revision " WITH_BATCHES " alone");
	else if (!count || count > BATCH_MAX)
		fail(s, m, outer, MESSAGE_BAD, "an array has 1 message, and at most 256");
	if (m->code)
		return;
	struct batch *batch = batch_new();
	for (item = (struct json_at){ 0 }; json_step(&m->root, &item);) {
		const char *text = json_source(&item, &len);
		server_take(s, text, len, batch);
	}
	server_send(s, batch, NULL);
}

void server_take(struct server *s, const char *text, size_t len, struct batch *batch)
{
	struct message m;

	message_read(&m, text, len);
	if (batch && (m.kind == MESSAGE_REFUSED || m.kind == MESSAGE_REQUEST ||
		      m.kind == MESSAGE_BATCH))
		batch->open++;
	switch (m.kind) {
	case MESSAGE_REFUSED:
		refuse(s, &m, batch, NULL);
		break;
	case MESSAGE_REQUEST:
		request(s, &m, batch);
		break;
	case MESSAGE_NOTIFICATION:
		notification(s, &m);
		break;
	case MESSAGE_RESPONSE:
		consent_take(s, m.id, &m.root);
		break;
	case MESSAGE_BATCH:
		take_batch(s, &m, batch);
		break;
	}
	message_done(&m);
}

/* --- the loop -------------------------------------------------------------- */

/* Whether more is read: not while the client does not read. */
static bool is_behind(const struct server *s)
{
	return buffer_len(&s->out.out) > SERVER_BEHIND;
}

static void take_lines(struct server *s)
{
	enum line_kind kind;
	const char *line;
	size_t len;

	while (!s->is_broken && !is_behind(s) &&
	       (kind = lines_next(&s->in, &line, &len)) != LINE_NONE) {
		if (kind == LINE_TOO_LONG)
			server_send(s, NULL,
				    reply_error(NULL, MESSAGE_NO_JSON,
						"a line has at most 16 MiB", NULL));
		else if (len > 0)
			server_take(s, line, len, NULL);
		lines_took(&s->in);
	}
}

static void on_input(void *context, uint32_t events)
{
	struct server *s = context;
	struct err e;

	(void)events;
	s->now_ms = clock_ms();
	if (lines_read(&s->in, STDIN_FILENO, &e) < 0)
		s->in.is_at_eof = true; /* an input that fails has ended */
}

static void on_output(void *context, uint32_t events)
{
	struct server *s = context;

	/* A pipe without a reader is an error, a socket whose other end is closed hangs
	 * up; node gives a server sockets. */
	if (events & (EPOLLERR | EPOLLHUP))
		s->is_broken = true;
	else
		flush(s, true);
}

/* Watches those descriptors that there is something to wait for at. */
static void watch(struct server *s)
{
	const bool reads = !s->in.is_at_eof && !is_behind(s);
	struct err e;

	if (!reads)
		loop_unwatch(&s->loop, &s->in_watch);
	else if (!s->is_file && loop_watch(&s->loop, &s->in_watch, EPOLLIN, &e) < 0)
		s->is_file = true;
	/* epoll(7) tells of a pipe without a reader in any case.  A regular file is never
	 * waited for, and refused here. */
	(void)loop_watch(&s->loop, &s->out_watch, buffer_len(&s->out.out) ? EPOLLOUT : 0,
			 &e);
}

static bool is_over(const struct server *s)
{
	return s->is_broken ||
	       (lines_is_over(&s->in) && !s->jobs && !buffer_len(&s->out.out));
}

/* Ends what waits for the client: after the end of its input no message comes that could
 * cancel a subscription or answer a question. */
static void end_waiting(struct server *s)
{
	struct job *next;

	for (struct job *j = s->jobs; j; j = next) {
		next = j->next;
		if (!j->tool)
			job_end_subscription(j);
		else if (j->question)
			job_answered(j, false);
	}
}

static int turn(struct server *s, struct err *e)
{
	watch(s);
	const bool reads_file = s->is_file && !s->in.is_at_eof && !is_behind(s);
	if (loop_step(&s->loop, reads_file ? 0 : -1, e) < 0)
		return -1;
	s->now_ms = clock_ms();
	if (reads_file)
		on_input(s, EPOLLIN);
	take_lines(s);
	if (lines_is_over(&s->in))
		end_waiting(s);
	flush(s, false);
	return 0;
}

int server_init(struct server *s, const struct setup *setup, struct err *e)
{
	*s = (struct server){ .setup = setup, .now_ms = clock_ms(), .names = 1 };
	s->name = text_copy(setup->name);
	s->in_watch = (struct watch){ STDIN_FILENO, s, on_input };
	s->out_watch = (struct watch){ STDOUT_FILENO, s, on_output };
	lines_init(&s->in, MESSAGE_MAX);
	fd_writer_init(&s->out, STDOUT_FILENO, SERVER_OUT_MAX);
	return loop_init(&s->loop, e);
}

bool server_rename(struct server *s)
{
	if (s->names >= SETUP_SANDBOXES_MAX)
		return false;
	free(s->name);
	s->name = text_format("%s-r%u", s->setup->prefix, ++s->names);
	return true;
}

int server_run(struct server *s, struct err *e)
{
	while (!is_over(s))
		if (turn(s, e) < 0)
			return -1;
	return 0;
}

void server_done(struct server *s)
{
	while (s->jobs)
		job_free(s->jobs);
	maker_free(s->maker);
	free(s->name);
	consent_done(&s->consent);
	lines_done(&s->in);
	fd_writer_done(&s->out);
	loop_done(&s->loop);
}
