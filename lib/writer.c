#include "lib/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/client.h"
#include "lib/call.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/opening.h"

static void free_chunk(struct chunk *c)
{
	for (size_t i = 0; i < c->fd_count; i++)
		own_close(&c->fds[i]);
	free(c);
}

static struct chunk *new_chunk(size_t room)
{
	struct chunk *c = malloc(sizeof(*c) + room);

	if (c)
		*c = (struct chunk){ .fds = { -1, -1, -1 } };
	return c;
}

/* Copies the descriptors, since their owner may close them before they are sent. */
static int take_fds(struct chunk *c, const struct request *r, struct hutch_error *e)
{
	for (size_t i = 0; i < r->fd_count; i++, c->fd_count++) {
		c->fds[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, 3);
		if (c->fds[i] < 0)
			return error_sys(e, "%s: copy descriptor %d", r->method,
					 r->fds[i]);
	}
	return 0;
}

int writer_add(struct hutch *h, long long id, const struct request *r,
	       struct hutch_error *e)
{
	static const char form[] =
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":";
	const size_t len = strlen(r->params),
		     room = sizeof(form) + 20 + strlen(r->method) + len + 3;
	struct chunk **at = &h->out;

	if (room > CLIENT_LINE_MAX)
		return error_set(e, HUTCH_LIMIT, "%s: the request is larger than 32 MiB",
			     r->method);
	struct chunk *c = new_chunk(room);
	if (!c)
		return error_memory(e);
	if (take_fds(c, r, e) < 0) {
		free_chunk(c);
		return -1;
	}
	c->id = id;
	c->len = (size_t)snprintf(c->bytes, room, form, id, r->method);
	memcpy(c->bytes + c->len, r->params, len);
	memcpy(c->bytes + c->len + len, "}\n", 2);
	c->len += len + 2;
	while (*at)
		at = &(*at)->next;
	*at = c;
	return 0;
}

int writer_greet(struct hutch *h, struct hutch_error *e)
{
	static const char form[] = "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"hello\","
				   "\"params\":{\"protocol\":%d}}\n";
	struct chunk *c = new_chunk(sizeof(form) + 20);

	if (!c)
		return error_memory(e);
	c->len = (size_t)snprintf(c->bytes, sizeof(form) + 20, form, HELLO,
				  CLIENT_PROTOCOL);
	c->id = HELLO;
	c->next = h->out;
	h->out = c;
	return 0;
}

/* Gives up a request that cannot be sent, for example because too many descriptors
 * are in flight (ETOOMANYREFS, unix(7)).  Only its own call fails; but an error in
 * the middle of a line ends the handle. */
static void give_up(struct hutch *h, struct chunk *c)
{
	struct hutch_error why;

	(void)error_sys(&why, "write to sandbox '%s'", h->name);
	if (c->sent == 0 && c->id != HELLO) {
		call_fail(h, c->id, &why);
	} else {
		h->why = why;
		handle_end(h);
	}
}

/* Sends as much of the request as there is room for.  Returns false if no more can
 * be sent now. */
static bool send_some(struct hutch *h, struct chunk *c)
{
	const size_t passing = c->sent ? 0 : c->fd_count;
	ssize_t n;

	do {
		n = fd_pass_send(h->socket, c->bytes + c->sent, c->len - c->sent, c->fds,
			      passing);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0 && errno != EPIPE && errno != ECONNRESET) {
		give_up(h, c);
		if (h->stage == OVER)
			return false; /* give_up() has freed `c` */
	}
	c->sent = n < 0 ? c->len : c->sent + (size_t)n;
	return true;
}

void writer_flush(struct hutch *h)
{
	struct chunk *c;

	if (!h->out || (h->stage != GREETING && h->stage != OPEN))
		return;
	if (h->stage == GREETING && !h->is_greeted)
		opening_start_timer(h);
	h->is_greeted = true;
	while ((c = h->out) && send_some(h, c)) {
		if (c->sent < c->len)
			continue;
		h->out = c->next;
		free_chunk(c);
	}
	if (h->stage != OVER && h->awaits_room != (h->out != NULL)) {
		h->awaits_room = h->out != NULL;
		handle_rewatch(h, h->socket, h->awaits_room);
	}
}

void writer_done(struct hutch *h)
{
	struct chunk *c;

	while ((c = h->out)) {
		h->out = c->next;
		free_chunk(c);
	}
}
