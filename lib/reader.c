#include "lib/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "cli/common/client.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "policy/json/json_string.h"

#define STEP	 (64u << 10)
#define KEPT_MAX (1u << 20) /* a buffer that is empty, and has grown beyond this many
			     * bytes, is freed */

/* The members of a line that the library uses, and those of a notification's params. */
enum part { ID, ERROR, RESULT, METHOD, PARAMS, PART_COUNT };
static const char *const part_names[PART_COUNT] = { "id", "error", "result", "method",
						    "params" };

enum param { PROCESS, EVENT, STREAM, DATA, CODED, DROPPED, PARAM_COUNT };
static const char *const param_names[PARAM_COUNT] = { "process", "event",  "stream",
						      "data",	 "base64", "dropped" };

static int over(struct hutch *h)
{
	handle_end(h);
	return 0;
}

static int broken(struct hutch *h, const char *how)
{
	(void)error_set(&h->why, HUTCH_PROTOCOL,
		    "sandbox '%s' sent a line that is not of control "
		    "protocol version %d: %s",
		    h->name, CLIENT_PROTOCOL, how);
	(void)error_remedy(&h->why,
			   "was hutch updated since it was created?  hutch rm -f %s and "
			   "create it again",
			   h->name);
	return over(h);
}

static int closed(struct hutch *h)
{
	(void)error_set(&h->why, HUTCH_DISCONNECTED,
		    "sandbox '%s' closed the connection: it has "
		    "ended, or is ending",
		    h->name);
	(void)error_remedy(&h->why, "hutch ps -a tells what became of it");
	return over(h);
}

/* --- what a line says ------------------------------------------------------ */

/* Finds the members with these names in one pass over the object; returns false if a
 * name occurs twice. */
static bool split(struct json_view object, const char *const *names, size_t count,
		  struct json_view *ret)
{
	struct json_view_place place = { 0 };

	memset(ret, 0, count * sizeof(*ret));
	while (json_view_step(object, &place))
		for (size_t i = 0; i < count; i++) {
			if (!json_view_is(place.key, names[i]))
				continue;
			if (ret[i].text)
				return false;
			ret[i] = place.value;
		}
	return true;
}

/* Gives the line to the packet, whose text is `piece` of it.  A NUL replaces the byte
 * behind the piece, which belongs to the line's syntax. */
static int keep_line(struct packet *p, struct json_view line, struct json_view piece)
{
	p->line = malloc(line.len + 1);
	if (!p->line)
		return -1;
	memcpy(p->line, line.text, line.len);
	char *json = p->line + (piece.text - line.text);
	json[piece.len] = '\0';
	p->m.json = json;
	p->m.json_len = piece.len;
	p->size += line.len + 1;
	return 0;
}

/* Decodes a JSON string into memory that belongs to the packet. */
static int keep_text(struct packet *p, struct json_view value)
{
	size_t at = 1;

	p->data = malloc(value.len + 1);
	if (!p->data)
		return -1;
	p->m.data = p->data;
	p->m.data_len =
		(size_t)(json_decode_all(value.text, value.len, &at, p->data) - p->data);
	p->size += value.len + 1;
	return 0;
}

/* --- answers --------------------------------------------------------------- */

/* Stores the number of the process that hutch_run() has started, so that the event
 * about its end is recognised. */
static void note_process(struct packet *p)
{
	const struct json_view result = { p->m.json, p->m.json_len };

	if (p->wants_end && p->m.error.kind == HUTCH_OK)
		(void)json_view_integer(json_view_get(result, "process"),
				    /* If the member is absent, `process` stays 0. */
				    &p->m.process);
}

static int take_answer(struct hutch *h, struct packet *p, struct json_view line,
		       const struct json_view x[PART_COUNT])
{
	if (x[ERROR].text)
		(void)error_answer(&p->m.error, h->name, x[ERROR]);
	else if (keep_line(p, line, x[RESULT]) < 0)
		return -1;
	note_process(p);
	call_settle(h, p);
	return 0;
}

static int wrong_version(struct hutch *h, struct json_view hello)
{
	const struct json_view version = json_view_get(hello, "version");
	const bool is_known = json_view_type(version) == JSON_STRING && version.len < 40;

	/* The version is printed as JSON, with its quotes. */
	(void)error_set(&h->why, HUTCH_UNSUPPORTED,
		    "sandbox '%s' was created by hutch %.*s, whose "
		    "control protocol is not version %d",
		    h->name, is_known ? (int)version.len : 40,
		    is_known ? version.text : "of another version", CLIENT_PROTOCOL);
	(void)error_remedy(&h->why,
			   "use that hutch for it, or hutch rm -f %s and create it again",
			   h->name);
	return over(h);
}

static int take_hello(struct hutch *h, struct json_view line,
		      const struct json_view x[PART_COUNT])
{
	int64_t protocol = 0;

	if (json_view_is(json_view_get(x[ERROR], "data.kind"), "unsupported"))
		return wrong_version(h, x[ERROR]);
	if (x[ERROR].text) {
		(void)error_answer(&h->why, h->name, x[ERROR]);
		return over(h);
	}
	if (!json_view_integer(json_view_get(x[RESULT], "protocol"), &protocol) ||
	    protocol != CLIENT_PROTOCOL)
		return wrong_version(h, x[RESULT]);
	if (keep_line(h->opened, line, x[RESULT]) < 0)
		return -1;
	handle_open(h);
	return 0;
}

/* --- notifications --------------------------------------------------------- */

static int read_output(struct packet *p, const struct json_view y[PARAM_COUNT])
{
	int64_t dropped = 0;

	p->m.stream = json_view_is(y[STREAM], "stdout") ? 1 :
		      json_view_is(y[STREAM], "stderr") ? 2 :
						      0;
	if (json_view_integer(y[DROPPED], &dropped) && dropped > 0)
		p->m.dropped = (uint64_t)dropped;
	if (json_view_type(y[DATA]) == JSON_STRING)
		return keep_text(p, y[DATA]);
	if (json_view_type(y[CODED]) != JSON_STRING)
		return 0;
	if (keep_text(p, y[CODED]) < 0)
		return -1;
	/* The base64 text is decoded in place: each three bytes are written after
	 * their four characters were read. */
	if (!base64_decode(p->data, p->m.data_len, (uint8_t *)p->data, &p->m.data_len))
		p->m.data_len = 0; /* the data is invalid base64, so no byte of it is
				    * shown */
	p->data[p->m.data_len] = '\0';
	return 0;
}

/* Gives the event about the end of a process to the thread whose hutch_run() waits
 * for it; no other thread gets the event.  Returns false if no thread does. */
static bool give_end(struct hutch *h, struct packet *p)
{
	if (!p->m.process)
		return false;
	for (struct waiter *w = h->waiters; w; w = w->next) {
		if (w->end || !w->call || !w->call->wants_end ||
		    w->call->m.process != p->m.process)
			continue;
		w->end = p;
		wake_one(w);
		return true;
	}
	return false;
}

static int take_notification(struct hutch *h, struct json_view line,
			     const struct json_view x[PART_COUNT])
{
	const bool is_output = json_view_is(x[METHOD], "output");
	const bool is_event = json_view_is(x[METHOD], "event");
	struct json_view y[PARAM_COUNT];

	if (!is_output && !is_event && !json_view_is(x[METHOD], "log") &&
	    !json_view_is(x[METHOD], "net.ask"))
		return 0; /* a notification of a later version is ignored */
	if (json_view_type(x[PARAMS]) != JSON_OBJECT)
		return broken(h, "a notification without params");
	if (!split(x[PARAMS], param_names, PARAM_COUNT, y))
		return broken(h, "a key stands twice");
	struct packet *p = packet_new(is_output ? HUTCH_OUTPUT : HUTCH_EVENT);
	if (!p || keep_line(p, line, x[PARAMS]) < 0 ||
	    (is_output && read_output(p, y) < 0)) {
		packet_free(p);
		return -1;
	}
	(void)json_view_integer(y[PROCESS], &p->m.process); /* if the member is absent,
							     * the value stays 0 */
	if (!is_event || !json_view_is(y[EVENT], "exited") || !give_end(h, p))
		queue_put(h, p);
	return 0;
}

/* --- lines ----------------------------------------------------------------- */

/* Handles one line.  Returns -1 if there is no memory; nothing has changed then, and
 * the line can be handled later. */
static int take_line(struct hutch *h, const char *text, size_t len)
{
	struct json_view line;
	struct json_view x[PART_COUNT];
	int64_t id = 0;

	if (json_view_scan(&line, text, len, NULL) < 0)
		return broken(h, "a line is no JSON");
	if (!split(line, part_names, PART_COUNT, x))
		return broken(h, "a key stands twice");
	if (!x[ID].text && json_view_type(x[METHOD]) == JSON_STRING)
		return take_notification(h, line, x);
	if (!x[ERROR].text == !x[RESULT].text)
		return broken(h, "an answer with no result, or an error as well");
	/* An error without an id ends the connection: there are too many connections,
	 * or the supervisor did not understand a request. */
	if (json_view_type(x[ID]) == JSON_NULL && x[ERROR].text) {
		(void)error_answer(&h->why, h->name, x[ERROR]);
		return over(h);
	}
	if (!json_view_integer(x[ID], &id))
		return broken(h, "an id that is no number");
	if (id == HELLO && h->stage == GREETING)
		return take_hello(h, line, x);
	struct packet *p = call_find(h, id);
	if (!p || p->is_done)
		return broken(h, "an answer without a request");
	return take_answer(h, p, line, x);
}

static int take_lines(struct hutch *h)
{
	struct reader *in = &h->in;
	char *end;

	while (h->stage != OVER && in->bytes) {
		char *start = in->bytes + in->start;
		const size_t len = in->end - in->start;
		end = memchr(start + in->searched, '\n', len - in->searched);
		if (!end) {
			in->searched = len;
			return 0;
		}
		if (take_line(h, start, (size_t)(end - start)) < 0)
			return -1;
		in->start += (size_t)(end - start) + 1;
		in->searched = 0;
	}
	return 0;
}

/* Makes room for at least STEP bytes. */
static int make_room(struct hutch *h)
{
	struct reader *in = &h->in;
	const size_t have = in->end - in->start;

	if (in->start) {
		memmove(in->bytes, in->bytes + in->start, have);
		in->start = 0;
		in->end = have;
	}
	if (have == 0 && in->room > KEPT_MAX)
		reader_done(h);
	if (in->room - in->end >= STEP)
		return 0;
	const size_t room = in->room ? 2 * in->room : STEP;
	char *bytes = realloc(in->bytes, room);
	if (!bytes)
		return -1;
	in->bytes = bytes;
	in->room = room;
	return 0;
}

/* Receives at most as many bytes as make the line too long, so that a fast writer
 * cannot make the buffer grow without a bound. */
static int receive(struct hutch *h)
{
	struct reader *in = &h->in;
	const size_t room = in->room - in->end;
	const size_t most = CLIENT_LINE_MAX + 1 - (in->end - in->start);
	ssize_t n;

	do {
		n = recv(h->socket, in->bytes + in->end, room < most ? room : most,
			 MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		in->end += (size_t)n;
		return 1;
	}
	if (n == 0 || errno == ECONNRESET)
		return closed(h);
	if (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS)
		return 0;
	(void)error_sys(&h->why, "read from sandbox '%s'", h->name);
	return over(h);
}

/* Handles the complete lines in the buffer, and reads more.  Returns -1 if there is
 * no memory. */
static int read_on(struct hutch *h)
{
	int got;

	if (take_lines(h) < 0)
		return -1;
	if (h->stage == OVER)
		return 0;
	if (h->in.end - h->in.start > CLIENT_LINE_MAX)
		return broken(h, "a line of more than 32 MiB");
	if (make_room(h) < 0)
		return -1;
	got = receive(h);
	return got > 0 && take_lines(h) < 0 ? -1 : got;
}

int reader_read(struct hutch *h, struct hutch_error *e)
{
	const int got = read_on(h);

	/* poll(2) of the socket does not report lines that are in the buffer already,
	 * so the descriptor `ready` must report them. */
	h->has_backlog = got < 0;
	queue_show(h);
	return got < 0 ? error_memory(e) : got;
}

void reader_done(struct hutch *h)
{
	free(h->in.bytes);
	h->in = (struct reader){ 0 };
}
