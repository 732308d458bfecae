#include "gateway/route/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "gateway/route/asks.h"
#include "gateway/route/front.h"

/* Writes what waits for a side.  Returns whether the side still takes bytes. */
bool client_flush(struct buffer *b, int fd)
{
	while (buffer_len(b) > 0) {
		const ssize_t n = write(fd, buffer_data(b), buffer_len(b));

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		buffer_consume(b, (size_t)n);
	}
	return true;
}

/* The answer is in `down`, or with the client: sends the rest, and lets the client close.
 * A connection that is closed with bytes of the client unread takes the answer with it.
 */
void client_finish(struct client *c)
{
	client_end_turn(c);
	client_close_pod(c);
	asks_end(c->asks);
	c->asks = NULL;
	if (c->phase != PHASE_FLUSH)
		client_enter(c, PHASE_FLUSH);
	if (!client_flush(&c->down, c->in.fd)) {
		client_end(c);
		return;
	}
	if (buffer_len(&c->down) == 0) {
		client_enter(c, PHASE_LINGER);
		(void)shutdown(c->in.fd, SHUT_WR);
	}
	client_watch(c);
}

static const char *reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *words;
	} list[] = {
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 404, "Not Found" },
		{ 408, "Request Timeout" },
		{ 411, "Length Required" },
		{ 413, "Content Too Large" },
		{ 422, "Unprocessable Content" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		if (list[i].status == status)
			return list[i].words;
	return "Status";
}

/* `more`: further fields, each with its line end. */
void client_reply(struct client *c, unsigned status, const char *type, const char *more,
		  const void *bytes, size_t len)
{
	AUTO_FREE char *head = text_format(
		"HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
		"Connection: close\r\n\r\n",
		status, reason(status), type, len, more);

	(void)buffer_append(&c->down, head, strlen(head));
	if (strcmp(c->head.method, "HEAD") != 0)
		(void)buffer_append(&c->down, bytes, len);
	client_finish(c);
}

void client_refuse(struct client *c, unsigned status, const char *text)
{
	struct buffer json;

	json_write_begin(&json);
	json_write_open(&json, NULL, "{");
	if (c->is_chosen && c->decision.form == FORM_E2B)
		json_write_number(&json, "code", status);
	json_write_text(&json,
			c->is_chosen && c->decision.form == FORM_E2B ? "message"
								     : "detail",
			text);
	json_write_close(&json, "}");
	AUTO_FREE char *body = json_write_end(&json);
	c->front->refused++;
	client_reply(c, status, "application/json",
		     status == 503 ? "Retry-After: 2\r\n" : "", body, strlen(body));
}

void client_refuse_pod(struct client *c)
{
	AUTO_FREE char *text =
		text_format("Pod %s does not answer: it may be starting anew",
			    c->front->pods->items[c->decision.pod].name);

	c->front->unreachable++;
	client_refuse(c, c->decision.away, text);
}
