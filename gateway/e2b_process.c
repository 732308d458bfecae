/* Commands of a sandbox: started, followed, written to and ended by the calls of
 * process.Process.
 *
 * A command belongs to the server's connection to the sandbox, so that its output waits for the
 * server instead of being dropped; a client that goes away leaves the command running. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/fields.h"
#include "gateway/e2b_process.h"

#define PIECE	    (48u << 10) /* bytes of output in one message */
#define PING_S	    90 /* between messages of a stream, where its client names none */
#define WORDS_MAX   4096
#define TIMEOUT_MAX 1000000000 /* ms of a command; a longer one is as good as this */

struct stream {
	struct stream *next;
	struct visit *visit;
	struct e2b_process *process; /* NULL: not started, or it has ended */
	struct timer ping;
	int64_t ping_ms;
	/* of a command that is to be started: */
	struct list argv, env;
	char *cwd, *user, *tag, *config; /* owned */
	unsigned flags;
	uint32_t rows, cols;
	uint64_t timeout_ms;
};

/* --- commands --------------------------------------------------------------------- */

static void forget(struct e2b_process *p)
{
	for (struct e2b_process **at = &p->owner->processes; *at; at = &(*at)->next) {
		if (*at != p)
			continue;
		*at = p->next;
		break;
	}
	box_unfollow(p->owner->box, p->follow);
	free(p->tag);
	free(p->config);
	free(p);
}

void processes_free(struct e2b *x)
{
	while (x->processes)
		forget(x->processes);
}

struct e2b_process *process_selected(struct visit *v, const struct json_at *root)
{
	struct e2b *x = e2b_of(v->box);
	struct json_at selector = { 0 };

	(void)json_member(root, "process", &selector);
	const uint64_t pid = json_member_uint(&selector, "pid", 0);
	const char *tag = json_member_string(&selector, "tag", NULL);
	for (struct e2b_process *p = x ? x->processes : NULL; p; p = p->next)
		if (tag ? p->tag && !strcmp(p->tag, tag) : p->pid == (int64_t)pid)
			return p;
	AUTO_FREE char *text = tag ? text_format("process with tag %s not found", tag)
				   : text_format("process with pid %llu not found",
						 (unsigned long long)pid);
	connect_fail(v, CONNECT_NOT_FOUND, text);
	return NULL;
}

/* --- streams ---------------------------------------------------------------------- */

static void on_ping(void *context)
{
	struct stream *s = context;
	struct buffer json;

	json_write_begin(&json);
	json_write_raw(&json, NULL, "{\"event\":{\"keepalive\":{}}}");
	connect_send(s->visit, &json);
	loop_start(&s->visit->gateway->loop, &s->ping, s->ping_ms);
}

static void join(struct stream *s, struct e2b_process *p)
{
	struct buffer json;

	s->process = p;
	s->next = p->streams;
	p->streams = s;
	s->ping = (struct timer){ .context = s, .expired = on_ping };
	connect_begin(s->visit);
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_open(&json, "event", "{");
	json_write_open(&json, "start", "{");
	json_write_number(&json, "pid", p->pid);
	json_write_close(&json, "}}}");
	connect_send(s->visit, &json);
	loop_start(&s->visit->gateway->loop, &s->ping, s->ping_ms);
}

static void leave(struct stream *s)
{
	struct e2b_process *p = s->process;

	loop_stop(&s->visit->gateway->loop, &s->ping);
	s->process = NULL;
	for (struct stream **at = p ? &p->streams : NULL; at && *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		return;
	}
}

void process_stream_closed(struct visit *v)
{
	struct stream *s = v->state;

	if (!s)
		return;
	if (s->process)
		leave(s);
	list_done(&s->argv);
	list_done(&s->env);
	free(s->cwd);
	free(s->user);
	free(s->tag);
	free(s->config);
	free(s);
}

static uint64_t read_number(const char *text, uint64_t other)
{
	char *end;
	const unsigned long long value = text ? strtoull(text, &end, 10) : 0;

	return text && *text >= '0' && *text <= '9' && !*end ? value : other;
}

static struct stream *stream_new(struct visit *v)
{
	struct stream *s = calloc(1, sizeof(*s));
	uint64_t ping_s =
		read_number(http_header(v->request, "Keepalive-Ping-Interval"), PING_S);

	if (!s)
		abort();
	if (ping_s == 0 || ping_s > PING_S)
		ping_s = PING_S;
	s->visit = v;
	s->ping_ms = (int64_t)ping_s * 1000;
	v->state = s;
	return s;
}

/* Ends the streams of a command, and forgets it. */
static void end_streams(struct e2b_process *p, enum connect_code code,
			const char *message)
{
	while (p->streams) {
		struct stream *s = p->streams;

		leave(s);
		connect_end(s->visit, code, message);
	}
	process_drop_inputs(p);
	/* An answer to a write may still come: its context is the box, which lives on. */
	forget(p);
}

/* --- output ----------------------------------------------------------------------- */

static void send_data(struct stream *s, const char *key, const char *base64)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_open(&json, "event", "{");
	json_write_open(&json, "data", "{");
	json_write_text(&json, key, base64);
	json_write_close(&json, "}}}");
	connect_send(s->visit, &json);
}

static void on_output(struct e2b_process *p, const struct hutch_message *m)
{
	char code[(PIECE / 3 + 1) * 4 + 1];
	const char *key = p->flags & HUTCH_TTY ? "pty"
			  : m->stream == 2     ? "stderr"
					       : "stdout";

	for (size_t at = 0; at < m->data_len;) {
		const size_t len = m->data_len - at < PIECE ? m->data_len - at : PIECE;

		code[base64_encode(m->data + at, len, (uint8_t *)code)] = '\0';
		for (struct stream *s = p->streams; s; s = s->next)
			send_data(s, key, code);
		at += len;
	}
}

/* The words are those of Go's os.ProcessState, which E2B's clients get; its signals are called
 * as in C, in small letters. */
static char *status_of(int64_t code, int64_t signo)
{
	const char *name = signo > 0 && signo < NSIG ? strsignal((int)signo) : NULL;
	char *text;

	if (signo == 0)
		return text_format("exit status %lld", (long long)code);
	if (!name)
		return text_format("signal: signal %lld", (long long)signo);
	text = text_format("signal: %s", name);
	text[strlen("signal: ")] |= 0x20;
	return text;
}

static void send_end(struct e2b_process *p, const struct hutch_message *m)
{
	int64_t code = 0, signo = 0;
	AUTO_FREE char *status = NULL;

	(void)hutch_json_integer(m->json, "exit_code", &code);
	(void)hutch_json_integer(m->json, "signal", &signo);
	status = status_of(code, signo);
	for (struct stream *s = p->streams; s; s = s->next) {
		struct buffer json;

		json_write_begin(&json);
		json_write_open(&json, NULL, "{");
		json_write_open(&json, "event", "{");
		json_write_open(&json, "end", "{");
		json_write_number(&json, "exitCode", signo ? -1 : code);
		json_write_bool(&json, "exited", signo == 0);
		json_write_text(&json, "status", status);
		if (code != 0)
			json_write_text(&json, "error", status);
		json_write_close(&json, "}}}");
		connect_send(s->visit, &json);
	}
}

static void on_event(struct e2b_process *p, const struct hutch_message *m)
{
	AUTO_FREE char *event = hutch_json_string(m->json, "event");
	int is_late = 0;

	if (!event || strcmp(event, "exited") != 0)
		return;
	(void)hutch_json_bool(m->json, "timed_out", &is_late);
	if (is_late) {
		end_streams(p, CONNECT_DEADLINE_EXCEEDED,
			    "the command took longer than its time-out");
		return;
	}
	send_end(p, m);
	end_streams(p, CONNECT_OK, NULL);
}

static void on_message(void *context, const struct hutch_message *m)
{
	struct e2b_process *p = context;

	if (m->type == HUTCH_ENDED)
		end_streams(p, CONNECT_UNAVAILABLE, "The sandbox was not found");
	else if (m->type == HUTCH_OUTPUT && m->dropped > 0)
		end_streams(p, CONNECT_DATA_LOSS,
			    "a part of the command's output was lost");
	else if (m->type == HUTCH_OUTPUT)
		on_output(p, m);
	else
		on_event(p, m);
}

/* --- Start ------------------------------------------------------------------------ */

static void on_started(void *context, const struct hutch_message *m)
{
	struct visit *v = context;
	struct stream *s = v->state;
	struct e2b_process *p;
	int64_t number = 0, pid = 0;

	if (m->error.kind != HUTCH_OK) {
		connect_fail_box(v, &m->error);
		return;
	}
	(void)hutch_json_integer(m->json, "process", &number);
	(void)hutch_json_integer(m->json, "pid", &pid);
	p = calloc(1, sizeof(*p));
	if (!p)
		abort();
	*p = (struct e2b_process){ .owner = v->box->extra,
				   .number = number,
				   .pid = pid,
				   .tag = s->tag,
				   .config = s->config,
				   .flags = s->flags };
	s->tag = s->config = NULL;
	p->next = p->owner->processes;
	p->owner->processes = p;
	/* Its output comes behind this answer. */
	p->follow = box_follow(v->box, number, p, on_message);
	join(s, p);
}

static void start_it(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	const struct stream *s = v->state;
	struct hutch_error e;

	if (why) {
		connect_fail_box(v, why);
		return;
	}
	if (!e2b_of(b)) {
		connect_fail(v, CONNECT_UNAVAILABLE, "this sandbox is none of E2B's");
		return;
	}
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = (const char *const *)s->argv.items,
				      .env = (const char *const *)s->env.items,
				      .cwd = s->cwd,
				      .user = s->user,
				      .flags = s->flags,
				      .rows = s->rows,
				      .cols = s->cols,
				      .timeout_ms = s->timeout_ms };
	void *tag = box_tag(b, v, on_started);
	if (hutch_exec(b->handle, &x, tag, &e) >= 0)
		return;
	box_untag(tag);
	connect_fail_box(v, &e);
}

static int read_argv(const struct json_at *config, struct list *to, struct err *e)
{
	list_add(to, json_member_string(config, "cmd", ""));
	if (!to->items[0][0])
		return err_set(e, ERR_USAGE, "process.cmd: a command was expected");
	return fields_words(config, "args", WORDS_MAX, to, e);
}

/* Reads the size of a terminal; false: the request has none. */
static bool read_size(const struct json_at *root, uint32_t *rows, uint32_t *cols)
{
	struct json_at pty, size;

	if (!json_member(root, "pty", &pty))
		return false;
	*rows = 24;
	*cols = 80;
	if (json_member(&pty, "size", &size)) {
		*rows = (uint32_t)json_member_uint(&size, "rows", 24);
		*cols = (uint32_t)json_member_uint(&size, "cols", 80);
	}
	return true;
}

static int read_start(const struct json_at *root, struct stream *s, struct err *e)
{
	struct json_at config, has_stdin;
	bool is_open = true; /* as older clients expect */
	size_t len;

	if (!json_member(root, "process", &config))
		return err_set(e, ERR_USAGE, "process: absent");
	if (read_argv(&config, &s->argv, e) < 0 ||
	    fields_variables(&config, "envs", WORDS_MAX, &s->env, e) < 0)
		return -1;
	if (json_member(root, "stdin", &has_stdin) &&
	    json_bool(&has_stdin, &is_open, e) < 0)
		return -1;
	const char *cwd = json_member_string(&config, "cwd", "");
	const char *tag = json_member_string(root, "tag", NULL);
	const char *source = json_source(&config, &len);
	s->cwd = *cwd ? text_copy(cwd) : NULL;
	s->tag = tag ? text_copy(tag) : NULL;
	s->config = strndup(source, len);
	if (read_size(root, &s->rows, &s->cols))
		s->flags = HUTCH_TTY | HUTCH_STDIN;
	else
		s->flags = is_open ? HUTCH_STDIN : 0;
	s->timeout_ms =
		read_number(http_header(s->visit->request, "Connect-Timeout-Ms"), 0);
	if (s->timeout_ms > TIMEOUT_MAX)
		s->timeout_ms = TIMEOUT_MAX;
	s->user = envd_user(s->visit);
	return 0;
}

void process_start(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct err e;

	if (!connect_read(v, &doc, &root))
		return;
	if (read_start(&root, stream_new(v), &e) < 0)
		connect_fail(v, CONNECT_INVALID_ARGUMENT, e.text);
	else
		envd_use(v, start_it);
}

/* --- the other calls --------------------------------------------------------------- */

void process_connect(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct e2b_process *p = process_read(v, &doc, &root);

	if (p)
		join(stream_new(v), p);
}

static void list_them(void *context, struct box *b, const struct hutch_error *why)
{
	struct visit *v = context;
	const struct e2b *x = b->extra;
	struct buffer json;

	if (why) {
		connect_fail_box(v, why);
		return;
	}
	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	json_write_open(&json, "processes", "[");
	for (const struct e2b_process *p = x ? x->processes : NULL; p; p = p->next) {
		json_write_open(&json, NULL, "{");
		json_write_raw(&json, "config", p->config);
		json_write_number(&json, "pid", p->pid);
		if (p->tag)
			json_write_text(&json, "tag", p->tag);
		json_write_close(&json, "}");
	}
	json_write_close(&json, "]}");
	visit_reply(v, &json);
}

void process_list(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;

	if (connect_read(v, &doc, &root))
		envd_use(v, list_them);
}

static void on_called(void *context, const struct hutch_message *m)
{
	struct visit *v = context;

	if (m->error.kind == HUTCH_DISCONNECTED || m->error.kind == HUTCH_NOT_FOUND)
		connect_fail(v, CONNECT_NOT_FOUND, "process not found: it has ended");
	else if (m->error.kind != HUTCH_OK)
		connect_fail_box(v, &m->error);
	else
		http_reply_json(v->request, 200, "{}");
}

static void finish(struct visit *v, void *tag, int64_t call, const struct hutch_error *e)
{
	if (call >= 0)
		return;
	box_untag(tag);
	connect_fail_box(v, e);
}

struct e2b_process *process_read(struct visit *v, struct json **doc, struct json_at *root)
{
	if (!connect_read(v, doc, root))
		return NULL;
	if (v->box && v->box->handle && v->box->state == BOX_RUNNING)
		return process_selected(v, root);
	e2b_fail(v, 502, "The sandbox was not found");
	return NULL;
}

static int signal_of(const struct json_at *root)
{
	const char *name = json_member_string(root, "signal", "");

	if (!strcmp(name, "SIGNAL_SIGTERM") || json_member_uint(root, "signal", 0) == 15)
		return 15;
	return !strcmp(name, "SIGNAL_SIGKILL") || json_member_uint(root, "signal", 0) == 9
		       ? 9
		       : 0;
}

void process_signal(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct hutch_error e;
	struct e2b_process *p = process_read(v, &doc, &root);

	if (!p)
		return;
	const int signo = signal_of(&root);
	if (signo == 0) {
		connect_fail(v, CONNECT_INVALID_ARGUMENT,
			     "signal: SIGNAL_SIGTERM or SIGNAL_SIGKILL");
		return;
	}
	void *tag = box_tag(v->box, v, on_called);
	finish(v, tag, hutch_exec_signal(v->box->handle, p->number, signo, tag, &e), &e);
}

void process_update(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct hutch_window size;
	struct json_at root;
	struct hutch_error e;
	struct e2b_process *p = process_read(v, &doc, &root);

	if (!p)
		return;
	if (!(p->flags & HUTCH_TTY)) {
		connect_fail(v, CONNECT_INVALID_ARGUMENT, "the process has no terminal");
		return;
	}
	if (!read_size(&root, &size.rows, &size.cols)) {
		http_reply_json(v->request, 200, "{}");
		return;
	}
	void *tag = box_tag(v->box, v, on_called);
	finish(v, tag, hutch_exec_resize(v->box->handle, p->number, size, tag, &e), &e);
}
