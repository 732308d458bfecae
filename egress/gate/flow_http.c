#include "egress/gate/flow_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/gate/flow.h"
#include "egress/gate/gate.h"

#define HELD_MAX (2 * HTTP_HEAD_MAX)

void flow_http_begin(struct flow *f)
{
	f->http = calloc(1, sizeof(*f->http));
	if (!f->http)
		abort();
	buffer_init(&f->http->held, HELD_MAX);
	f->reading = FLOW_HTTP;
}

void flow_http_done(struct flow *f)
{
	if (f->http)
		buffer_done(&f->http->held);
	free(f->http);
	f->http = NULL;
}

bool flow_http_is_over(const struct flow *f)
{
	return f->http && f->http->has_ended && !buffer_len(&f->http->held);
}

bool flow_http_forbid(struct flow *f, unsigned reason)
{
	char body[600], answer[900], rest[4096];
	int len = snprintf(body, sizeof(body),
			   "[hutch: connection to %s:%u refused: %s]\n", f->name, f->port,
			   reason_text(reason));
	int all = snprintf(answer, sizeof(answer),
			   "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
			   "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
			   len, body);

	if (send(f->guest, answer, (size_t)all, MSG_NOSIGNAL | MSG_DONTWAIT) != all)
		return false;
	(void)shutdown(f->guest, SHUT_WR);
	/* A socket that is closed with unread bytes sends a reset, which can overtake the
	 * answer. */
	while (recv(f->guest, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	return true;
}

/* Reads what has come from the guest, up to its end: an end that came with the last bytes
 * has no event of its own.  Returns false at an error. */
static bool fill(struct flow *f)
{
	struct flow_http *h = f->http;
	size_t room;

	while (!h->has_ended && (room = HELD_MAX - buffer_len(&h->held)) > 0) {
		uint8_t *to = buffer_reserve(&h->held, room);
		ssize_t n = to ? recv(f->guest, to, room, MSG_DONTWAIT) : -1;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		buffer_added(&h->held, (size_t)n);
		h->has_ended = n == 0;
	}
	return true;
}

static unsigned reason_of(enum http_why why)
{
	switch (why) {
	case HTTP_NO_HOST:
	case HTTP_TWO_HOSTS:
	case HTTP_OTHER_HOST:
		return REASON_HOST_MISMATCH;
	case HTTP_CONNECT:
	case HTTP_UPGRADE:
	case HTTP_UPGRADE_H2C:
	case HTTP_LATE_UPGRADE:
		return REASON_HTTP_FORBIDDEN;
	case HTTP_FINE:
	case HTTP_BAD_REQUEST_LINE:
	case HTTP_BAD_VERSION:
	case HTTP_BAD_LINE_END:
	case HTTP_BAD_BYTE:
	case HTTP_BAD_FIELD:
	case HTTP_FOLDED:
	case HTTP_TOO_LARGE:
	case HTTP_BAD_TARGET:
	case HTTP_BAD_LENGTH:
	case HTTP_BAD_CODING:
	case HTTP_LENGTH_AND_CODING:
	case HTTP_BAD_CHUNK:
	case HTTP_BAD_TRAILER:
	case HTTP_WHY_COUNT:
		break;
	}
	return REASON_HTTP_INVALID;
}

/* Reads a head behind the sendable bytes.  Returns HTTP_DONE if one was read. */
static enum http_verdict read_head(struct flow *f)
{
	struct flow_http *h = f->http;
	const struct http_expect expect = { .name = f->name,
					    .port = f->port,
					    .is_first = !h->is_later };
	uint8_t *bytes = h->held.bytes + h->held.start + h->sendable;
	size_t len = buffer_len(&h->held) - h->sendable;

	enum http_verdict verdict = http_head_parse(&h->head, bytes, len, &expect);
	if (verdict == HTTP_REFUSED && h->head.why == HTTP_UPGRADE_H2C) {
		http_head_hide_upgrade(bytes, len);
		h->head = (struct http_head){ 0 };
		verdict = http_head_parse(&h->head, bytes, len, &expect);
	}
	if (verdict != HTTP_DONE)
		return verdict;
	h->sendable += h->head.len;
	h->is_in_body = h->is_later = true;
	h->waits_for_answer = h->head.is_websocket;
	http_body_init(&h->body, &h->head);
	h->head = (struct http_head){ .why = HTTP_FINE };
	return HTTP_DONE;
}

static enum http_verdict read_body(struct flow *f)
{
	struct flow_http *h = f->http;
	size_t taken = 0;

	enum http_verdict verdict =
		http_body_take(&h->body, h->held.bytes + h->held.start + h->sendable,
			       buffer_len(&h->held) - h->sendable, &taken);
	h->sendable += taken;
	h->is_in_body = verdict != HTTP_DONE;
	if (verdict == HTTP_REFUSED)
		h->head.why = h->body.why;
	return verdict;
}

/* Reads all that is held.  Returns false if a request is refused, with h->head.why. */
static bool read_requests(struct flow *f)
{
	struct flow_http *h = f->http;
	enum http_verdict verdict = HTTP_DONE;

	while (verdict == HTTP_DONE && !h->waits_for_answer &&
	       (h->is_in_body || h->sendable < buffer_len(&h->held)))
		verdict = h->is_in_body ? read_body(f) : read_head(f);
	return verdict != HTTP_REFUSED;
}

/* Sends what was read.  Returns false if the server's socket broke. */
static bool send_on(struct gate *g, struct flow *f)
{
	struct flow_http *h = f->http;

	while (h->sendable) {
		ssize_t n = send(f->upstream, h->held.bytes + h->held.start, h->sendable,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		buffer_consume(&h->held, (size_t)n);
		h->sendable -= (size_t)n;
		f->up.bytes += (uint64_t)n;
		f->used = g->now;
	}
	return true;
}

/* Once a websocket has taken nothing more from the buffer, its bytes go through the
 * kernel. */
static void settle(struct flow *f)
{
	struct flow_http *h = f->http;

	if (h->has_ended && !buffer_len(&h->held) && !f->up.is_shut) {
		(void)shutdown(f->upstream, SHUT_WR);
		f->up.is_shut = true;
	}
	if (!h->is_raw || buffer_len(&h->held) || h->has_ended)
		return;
	flow_http_done(f);
	f->reading = FLOW_OPAQUE;
}

bool flow_http_move(struct gate *g, struct flow *f)
{
	struct flow_http *h = f->http;
	const uint64_t before = f->up.bytes;
	uint64_t sent;
	size_t held;

	do {
		held = buffer_len(&h->held);
		sent = f->up.bytes;
		if (!fill(f)) {
			flow_end(g, f, REASON_UPSTREAM_FAILED);
			return false;
		}
		if (h->is_raw)
			h->sendable = buffer_len(&h->held);
		else if (!read_requests(f)) {
			flow_refuse(g, f, reason_of(h->head.why));
			return false;
		}
		if (f->state == FLOW_READS && h->is_later)
			flow_ask(g, f);
		else if (f->state == FLOW_READS && h->has_ended) {
			flow_end(g, f, REASON_NONE);
			return false;
		}
		if (f->state != FLOW_RUNS)
			return true;
		if (!send_on(g, f)) {
			flow_end(g, f, REASON_UPSTREAM_FAILED);
			return false;
		}
	} while ((buffer_len(&h->held) != held || f->up.bytes != sent) &&
		 f->up.bytes - before < STREAM_TURN);
	if (f->up.bytes - before >= STREAM_TURN)
		f->has_more = g->has_more = true;
	settle(f);
	return true;
}

/* Passes an interim answer of `len` bytes to the guest. */
static bool pass_interim(struct flow *f, size_t len)
{
	uint8_t bytes[HTTP_HEAD_MAX];

	return recv(f->upstream, bytes, len, MSG_DONTWAIT) == (ssize_t)len &&
	       send(f->guest, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

bool flow_http_read_server(struct gate *g, struct flow *f)
{
	struct flow_http *h = f->http;
	uint8_t bytes[HTTP_HEAD_MAX];
	unsigned status;
	size_t len;

	while (h->waits_for_answer) {
		ssize_t n =
			recv(f->upstream, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		enum http_verdict verdict =
			n <= 0 ? HTTP_REFUSED
			       : http_answer_parse(bytes, (size_t)n, &status, &len);
		if (verdict == HTTP_NEED_MORE)
			return false;
		if (verdict == HTTP_DONE && status > 101 && status < 200) {
			if (pass_interim(f, len))
				continue;
			flow_end(g, f, REASON_HTTP_INVALID);
			return false;
		}
		h->waits_for_answer = false;
		h->is_raw = verdict == HTTP_DONE && status == 101;
	}
	return true;
}
