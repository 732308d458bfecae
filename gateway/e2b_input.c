/* Input of commands: SendInput, StreamInput and CloseStdin of process.Process.
 *
 * A command takes one write at a time, so further ones wait in a queue. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "gateway/connect_frames.h"
#include "gateway/e2b_process.h"

#define INPUT_PIECE (512u << 10) /* bytes of input in one call */

static void write_next(struct e2b_process *p);

static void input_done(struct input *i)
{
	struct buffer json;

	if (!connect_is_stream(i->visit)) {
		http_reply_json(i->visit->request, 200, "{}");
		return;
	}
	connect_begin(i->visit);
	json_write_begin(&json);
	json_write_raw(&json, NULL, "{}");
	connect_send(i->visit, &json);
	connect_end(i->visit, CONNECT_OK, NULL);
}

static struct e2b_process *find_number(struct box *b, int64_t number)
{
	const struct e2b *x = b->extra;

	for (struct e2b_process *p = x ? x->processes : NULL; p; p = p->next)
		if (p->number == number)
			return p;
	return NULL;
}

struct written {
	struct box *box;
	int64_t number;
};

/* The command may have ended meanwhile, and is looked for by its number. */
static void on_written(void *context, const struct hutch_message *m)
{
	struct written *w = context;
	struct e2b_process *p = find_number(w->box, w->number);
	struct input *i = p ? p->inputs : NULL;

	free(w);
	if (!p)
		return;
	p->is_writing = false;
	if (i && m->error.kind != HUTCH_OK) {
		p->inputs = i->next;
		connect_fail_box(i->visit, &m->error);
	} else if (i && i->at == i->len) {
		p->inputs = i->next;
		input_done(i);
	}
	write_next(p);
}

/* Writes a piece of the first input, unless one is on its way. */
static void write_next(struct e2b_process *p)
{
	struct input *i = p->inputs;
	struct box *b = p->owner->box;
	struct hutch_error e;

	if (!i || p->is_writing)
		return;
	const size_t left = i->len - i->at, len = left < INPUT_PIECE ? left : INPUT_PIECE;
	const bool is_last = len == left;
	const struct hutch_input in = { .size = sizeof(in),
					.data = i->bytes + i->at,
					.len = len,
					.flags = i->closes && is_last ? HUTCH_EOF : 0 };
	struct written *w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	*w = (struct written){ b, p->number };
	void *tag = box_tag(b, w, on_written);
	i->at += len;
	if (hutch_exec_write(b->handle, p->number, &in, tag, &e) >= 0) {
		p->is_writing = true;
		return;
	}
	box_untag(tag);
	free(w);
	p->inputs = i->next;
	connect_fail_box(i->visit, &e);
	write_next(p);
}

static struct input *input_new(struct visit *v, size_t room)
{
	struct input *i = calloc(1, sizeof(*i));

	if (!i || !(i->bytes = malloc(room + 1)))
		abort();
	i->visit = v;
	v->state = i;
	return i;
}

/* The request is answered by then, and so its input is in no queue any more. */
void process_input_closed(struct visit *v)
{
	struct input *i = v->state;

	if (!i)
		return;
	free(i->bytes);
	free(i);
}

static void enqueue(struct e2b_process *p, struct input *i)
{
	struct input **at = &p->inputs;

	if (!(p->flags & HUTCH_STDIN)) {
		connect_fail(i->visit, CONNECT_INVALID_ARGUMENT,
			     "the process was started without stdin");
		return;
	}
	while (*at)
		at = &(*at)->next;
	*at = i;
	write_next(p);
}

/* Adds the bytes of {"input":{"stdin":BASE64}}; false: they are none. */
static bool add_input(struct input *i, const struct json_at *message)
{
	struct json_at input;
	size_t len = 0;

	if (!json_member(message, "input", &input))
		return false;
	const char *code = json_member_string(&input, "stdin",
					      json_member_string(&input, "pty", ""));
	if (!base64_decode(code, strlen(code), i->bytes + i->len, &len))
		return false;
	i->len += len;
	return true;
}

void process_input(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	size_t size;
	struct e2b_process *p = process_read(v, &doc, &root);

	if (!p)
		return;
	(void)http_body(v->request, &size);
	struct input *i = input_new(v, size);
	if (add_input(i, &root))
		enqueue(p, i);
	else
		connect_fail(v, CONNECT_INVALID_ARGUMENT, "input: base64 was expected");
}

void process_close_stdin(struct visit *v)
{
	AUTO_JSON struct json *doc = NULL;
	struct json_at root;
	struct e2b_process *p = process_read(v, &doc, &root);

	if (!p)
		return;
	struct input *i = input_new(v, 0);
	i->closes = true;
	enqueue(p, i);
}

/* Reads one message of a client's stream: which command it is, or its input. */
static bool read_message(struct visit *v, const char *text, size_t len, struct input *i,
			 struct e2b_process **p)
{
	struct json_at root, start, data;
	struct err e;
	AUTO_JSON struct json *doc = json_parse(text, len, &e);

	if (!doc) {
		connect_fail(v, CONNECT_INVALID_ARGUMENT, e.text);
		return false;
	}
	json_root(doc, "message", &root);
	if (!*p && json_member(&root, "start", &start)) {
		*p = process_selected(v, &start);
		return *p != NULL;
	}
	if (*p && json_member(&root, "data", &data) && add_input(i, &data))
		return true;
	if (json_member(&root, "keepalive", &data))
		return true;
	connect_fail(v, CONNECT_INVALID_ARGUMENT, "a start, and then data were expected");
	return false;
}

void process_stream_input(struct visit *v)
{
	size_t len;
	const char *body = http_body(v->request, &len);
	struct e2b_process *p = NULL;
	struct connect_frame frame;
	int found;

	if (!v->box || !v->box->handle || v->box->state != BOX_RUNNING) {
		e2b_fail(v, 502, "The sandbox was not found");
		return;
	}
	struct input *i = input_new(v, len);
	while ((found = connect_next(&body, &len, &frame)) == 1)
		if (!read_message(v, frame.text, frame.len, i, &p))
			return;
	if (found < 0 || !p)
		connect_fail(v, CONNECT_INVALID_ARGUMENT,
			     "the stream of messages is broken");
	else
		enqueue(p, i);
}

void process_drop_inputs(struct e2b_process *p)
{
	while (p->inputs) {
		struct input *i = p->inputs;

		p->inputs = i->next;
		connect_fail(i->visit, CONNECT_NOT_FOUND,
			     "process not found: it has ended");
	}
}
