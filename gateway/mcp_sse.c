/* MCP over server-sent events, as the action server of OpenHands 0.62 has it: a client
 * configures stdio servers, and each of its event streams has servers of its own, which run
 * inside the sandbox.
 *
 * Sources: fastmcp 2.12 and mcp 1.16 (the reference); Model Context Protocol 2024-11-05,
 * "HTTP with SSE". */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "gateway/keys.h"
#include "gateway/relay/mcp_relay.h"
#include "gateway/relay/mcp_servers.h"
#include "gateway/routes.h"

#define PING_MS	  15000
#define GRACE_MS  5000	      /* how long a server has to end when its stdin is closed */
#define WRITE_MAX (512u << 10) /* bytes of one exec.write */
#define WAIT_MAX  (64u << 20)  /* bytes that wait for one server */

struct session;

struct server {
	struct session *session;
	size_t index;
	int64_t process; /* 0: not started yet */
	struct box_stream *stream; /* owned; NULL: none */
	struct buffer in;	   /* what it is to read */
	bool is_writing, is_over, is_killed;
};

/* An event stream and its servers.  It outlives its request until they have ended. */
struct session {
	struct session *next;
	struct box *box;
	struct visit *visit; /* NULL: its client is gone */
	struct loop *loop;
	char id[33];
	struct mcp_relay *relay; /* owned */
	struct server servers[MCP_SERVERS_MAX];
	char *names[MCP_SERVERS_MAX]; /* owned */
	size_t count, running;
	unsigned calls; /* answers that are outstanding */
	struct timer ping, due, kill;
};

/* The state of a sandbox that outlives a request (box->extra). */
struct mcp_box {
	struct mcp_servers servers;
	struct session *sessions;
};

static void pump(struct session *s);

/* --- configuration -------------------------------------------------------------- */

static void mcp_box_free(void *extra)
{
	struct mcp_box *m = extra;

	mcp_servers_done(&m->servers);
	free(m);
}

static struct mcp_box *mcp_box(struct box *b)
{
	if (!b->extra) {
		b->extra = calloc(1, sizeof(struct mcp_box));
		b->extra_free = mcp_box_free;
	}
	return b->extra;
}

static void update(struct visit *v)
{
	struct mcp_box *m = mcp_box(v->box);
	struct mcp_servers servers = { 0 };
	struct err e;
	size_t len;
	const char *text = http_body(v->request, &len);

	if (m && mcp_servers_read(&servers, text, len, &e) == 0) {
		mcp_servers_done(&m->servers);
		m->servers = servers;
		http_reply_json(v->request, 200,
				"{\"detail\":\"MCP server updated successfully\","
				"\"router_error_log\":\"\"}");
		return;
	}
	mcp_servers_done(&servers);
	if (m && e.kind == ERR_USAGE)
		visit_fail(v, 400, "Request must be a list of MCP tools to sync");
	else
		visit_fail(v, 500, "An unexpected error occurred. Please try again later.");
}

/* --- the end of a stream -------------------------------------------------------- */

static void session_free(struct session *s)
{
	struct mcp_box *m = s->box->extra;

	if (s->visit || s->running > 0 || s->calls > 0)
		return;
	for (struct session **at = &m->sessions; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		break;
	}
	loop_stop(s->loop, &s->ping);
	loop_stop(s->loop, &s->due);
	loop_stop(s->loop, &s->kill);
	mcp_relay_free(s->relay);
	for (size_t i = 0; i < s->count; i++) {
		buffer_done(&s->servers[i].in);
		free(s->names[i]);
	}
	s->box->busy--;
	free(s);
}

static void on_ignored(void *context, const struct hutch_message *m)
{
	struct session *s = context;

	(void)m;
	s->calls--;
	session_free(s);
}

static void kill_server(struct server *x)
{
	struct session *s = x->session;

	if (x->is_over || x->is_killed || x->process == 0 || !s->box->handle)
		return;
	void *tag = box_tag(s->box, s, on_ignored);
	if (hutch_exec_signal(s->box->handle, x->process, SIGKILL, tag, NULL) < 0) {
		box_untag(tag);
		return;
	}
	x->is_killed = true;
	s->calls++;
}

/* Kills those that did not end when their stdin was closed. */
static void on_kill(void *context)
{
	struct session *s = context;

	for (size_t i = 0; i < s->count; i++)
		kill_server(&s->servers[i]);
}

static void server_over(struct server *x)
{
	struct session *s = x->session;

	if (x->is_over)
		return;
	x->is_over = true;
	s->running--;
	if (x->stream)
		box_unfollow(s->box, x->stream);
	x->stream = NULL;
	mcp_relay_ended(s->relay, x->index);
}

/* --- to a server ---------------------------------------------------------------- */

static void write_some(struct server *x);

static void on_written(void *context, const struct hutch_message *m)
{
	struct server *x = context;
	struct session *s = x->session;

	x->is_writing = false;
	s->calls--;
	/* A server that has closed its stdin ends by itself, or is killed. */
	if (m->error.kind == HUTCH_OK && s->visit)
		write_some(x);
	session_free(s);
}

static void write_some(struct server *x)
{
	struct session *s = x->session;
	const size_t len = buffer_len(&x->in);
	const struct hutch_input input = { .size = sizeof(input),
					   .data = buffer_data(&x->in),
					   .len = len < WRITE_MAX ? len : WRITE_MAX };

	if (x->is_writing || len == 0 || x->process == 0 || x->is_over || !s->box->handle)
		return;
	void *tag = box_tag(s->box, x, on_written);
	if (hutch_exec_write(s->box->handle, x->process, &input, tag, NULL) < 0) {
		box_untag(tag);
		return;
	}
	x->is_writing = true;
	s->calls++;
	buffer_consume(&x->in, input.len);
}

static void close_input(struct server *x)
{
	struct session *s = x->session;
	const struct hutch_input end = { .size = sizeof(end), .data = "", .flags = HUTCH_EOF };

	if (x->process == 0 || x->is_over || !s->box->handle)
		return;
	void *tag = box_tag(s->box, s, on_ignored);
	if (hutch_exec_write(s->box->handle, x->process, &end, tag, NULL) < 0)
		box_untag(tag);
	else
		s->calls++;
}

/* --- to the client -------------------------------------------------------------- */

static void send_event(struct session *s, const char *event, const char *data, size_t len)
{
	AUTO_FREE char *head = text_format("event: %s\r\ndata: ", event);

	if (!s->visit)
		return;
	(void)http_write(s->visit->request, head, strlen(head));
	(void)http_write(s->visit->request, data, len);
	(void)http_write(s->visit->request, "\r\n\r\n", 4);
}

/* Takes what the relay has for both sides. */
static void pump(struct session *s)
{
	struct mcp_line line;

	while (mcp_relay_next(s->relay, &line)) {
		if (line.to == MCP_CLIENT) {
			send_event(s, "message", line.text, line.len);
		} else {
			struct server *x = &s->servers[line.to];
			const bool fits = buffer_append(&x->in, line.text, line.len) &&
					  buffer_append(&x->in, "\n", 1);

			if (fits)
				write_some(x);
			else
				mcp_relay_ended(s->relay, line.to); /* it reads nothing */
		}
		free(line.text);
	}
	/* A server that went beyond a bound is of no use any more. */
	for (size_t i = 0; i < s->count; i++)
		if (mcp_relay_has_ended(s->relay, i))
			kill_server(&s->servers[i]);
	const int64_t due = mcp_relay_due(s->relay);
	if (due > 0)
		loop_start(s->loop, &s->due, due - clock_ms());
	else
		loop_stop(s->loop, &s->due);
	if (s->visit && mcp_relay_is_over(s->relay))
		http_end(s->visit->request);
}

static void on_due(void *context)
{
	struct session *s = context;

	mcp_relay_tick(s->relay, clock_ms());
	pump(s);
}

static void on_ping(void *context)
{
	static const char ping[] = ": ping\r\n\r\n";
	struct session *s = context;

	if (!s->visit)
		return;
	(void)http_write(s->visit->request, ping, strlen(ping));
	loop_start(s->loop, &s->ping, PING_MS);
}

/* --- from a server -------------------------------------------------------------- */

static void on_server(void *context, const struct hutch_message *m)
{
	struct server *x = context;
	struct session *s = x->session;

	if (m->type == HUTCH_OUTPUT && m->stream == 1) {
		mcp_relay_heard(s->relay, x->index, m->data, m->data_len);
	} else if (m->type == HUTCH_ENDED) {
		server_over(x);
	} else if (m->type == HUTCH_EVENT) {
		AUTO_FREE char *event = hutch_json_string(m->json, "event");
		if (event && !strcmp(event, "exited"))
			server_over(x);
	}
	pump(s);
	session_free(s);
}

static void on_started(void *context, const struct hutch_message *m)
{
	struct server *x = context;
	struct session *s = x->session;

	s->calls--;
	if (m->error.kind == HUTCH_OK &&
	    hutch_json_integer(m->json, "process", &x->process)) {
		x->stream = box_follow(s->box, x->process, x, on_server);
		if (s->visit)
			write_some(x);
		else
			close_input(x);
	} else {
		server_over(x);
	}
	pump(s);
	session_free(s);
}

static void start_server(struct server *x, const struct mcp_server *what)
{
	struct session *s = x->session;
	const struct hutch_exec exec = { .size = sizeof(exec),
					 .argv = (const char *const *)what->argv.items,
					 .env = (const char *const *)what->env.items,
					 .flags = HUTCH_STDIN };
	void *tag = box_tag(s->box, x, on_started);

	s->running++;
	if (hutch_exec(s->box->handle, &exec, tag, NULL) >= 0) {
		s->calls++;
		return;
	}
	box_untag(tag);
	server_over(x);
}

/* --- a stream ------------------------------------------------------------------- */

/* Writes where the client sends its messages: the path of this server, and below it. */
static void send_endpoint(struct session *s)
{
	const char *url = s->visit->gateway->serve->url, *host = strstr(url, "://");
	const char *path = strchr(host ? host + 3 : url, '/');
	AUTO_FREE char *data = text_format("%s/%s/mcp/messages/?session_id=%s",
					   path ? path : "", s->box->id, s->id);

	send_event(s, "endpoint", data, strlen(data));
}

static struct session *session_new(struct visit *v, const struct mcp_servers *servers)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->box = v->box;
	s->box->busy++; /* a stream keeps it from being paused */
	s->visit = v;
	s->loop = &v->gateway->loop;
	s->count = servers->count;
	s->ping = (struct timer){ .context = s, .expired = on_ping };
	s->due = (struct timer){ .context = s, .expired = on_due };
	s->kill = (struct timer){ .context = s, .expired = on_kill };
	keys_random(s->id, 32);
	for (size_t i = 0; i < s->count; i++) {
		s->names[i] = text_copy(servers->list[i].name);
		s->servers[i] = (struct server){ .session = s, .index = i };
		buffer_init(&s->servers[i].in, WAIT_MAX);
	}
	s->relay = mcp_relay_new((const char *const *)s->names, s->count);
	return s;
}

static void begin(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	struct mcp_box *m = b->extra;
	struct session *s;

	if (why) {
		visit_fail_box(v, why);
		return;
	}
	s = session_new(v, &m->servers);
	if (!s) {
		visit_fail(v, 503, "out of memory");
		return;
	}
	s->next = m->sessions;
	m->sessions = s;
	v->state = s;
	http_add(v->request, "Cache-Control", "no-store");
	http_stream(v->request, 200, "text/event-stream", NULL);
	send_endpoint(s);
	loop_start(s->loop, &s->ping, PING_MS);
	for (size_t i = 0; i < s->count; i++)
		start_server(&s->servers[i], &m->servers.list[i]);
}

static void open_stream(struct visit *v)
{
	const struct mcp_box *m = v->box->extra;

	if (!m || m->servers.count == 0)
		visit_fail(v, 404, "Not Found");
	else
		box_use(v->box, v, begin);
}

static void stream_closed(struct visit *v)
{
	struct session *s = v->state;

	if (!s)
		return;
	s->visit = NULL;
	loop_stop(s->loop, &s->ping);
	loop_stop(s->loop, &s->due);
	for (size_t i = 0; i < s->count; i++)
		close_input(&s->servers[i]);
	if (s->running > 0)
		loop_start(s->loop, &s->kill, GRACE_MS);
	session_free(s);
}

/* --- a message ------------------------------------------------------------------ */

static struct session *find_session(const struct visit *v, const char *id)
{
	const struct mcp_box *m = v->box->extra;

	for (struct session *s = m ? m->sessions : NULL; s; s = s->next)
		if (s->visit && !strcmp(s->id, id))
			return s;
	return NULL;
}

static void say(struct visit *v, unsigned status, const char *text)
{
	http_reply(v->request, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void message(struct visit *v)
{
	const char *id = http_query(v->request, "session_id");
	struct session *s;
	size_t len;
	const char *text = http_body(v->request, &len);

	if (!id || strlen(id) != 32) {
		say(v, 400, id ? "Invalid session ID" : "session_id is required");
		return;
	}
	s = find_session(v, id);
	if (!s) {
		say(v, 404, "Could not find session");
		return;
	}
	if (!mcp_relay_post(s->relay, text, len, clock_ms())) {
		say(v, 400, "Could not parse message");
		return;
	}
	say(v, 202, "Accepted");
	pump(s);
}

static const struct route list[] = {
	{ .method = "POST", .path = "/*/update_mcp_server", .access = ACCESS_BOX,
	  .handle = update, .body_max = 1u << 20 },
	{ .method = "GET", .path = "/*/mcp/sse", .access = ACCESS_BOX, .handle = open_stream,
	  .closed = stream_closed },
	{ .method = "POST", .path = "/*/mcp/messages/", .access = ACCESS_BOX,
	  .handle = message, .body_max = MCP_LINE_MAX },
};

const struct routes mcp_routes = { .list = list, .count = ARRAY_LEN(list) };
