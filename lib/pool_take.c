#include "lib/pool_take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/client.h"
#include "lib/error.h"
#include "lib/handle.h"
#include "lib/reader.h"

/* The room for both lines of a keeper's answer: the hello, and a name or an error. */
#define SAID_MAX (16u << 10)

enum { ASK_HELLO = 1, ASK_TAKE };

int pool_take_begin(struct hutch *h, int *pool, struct hutch_error *e)
{
	static const char form[] =
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"hello\","
		"\"params\":{\"protocol\":%d}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"take\"}\n";
	char text[sizeof(form) + 20];
	const int len =
		snprintf(text, sizeof(text), form, ASK_HELLO, CLIENT_PROTOCOL, ASK_TAKE);

	/* The text fits into the buffer of a new socket, so a short write means that
	 * the other end is no keeper. */
	if (*pool < 0 || fd_pass_send(*pool, text, (size_t)len, NULL, 0) != len)
		return 0;
	h->in.bytes = malloc(SAID_MAX);
	if (!h->in.bytes)
		return error_memory(e);
	h->in.room = SAID_MAX;
	h->socket = fd_take(pool);
	return handle_watch(h, h->socket, e) < 0 ? -1 : 1;
}

static int gone(const struct hutch *h, struct hutch_error *e)
{
	(void)error_set(e, HUTCH_DISCONNECTED, "the keeper of pool '%s' has ended",
			h->name);
	return error_remedy(e,
			    "hutch pool ls lists the pools; hutch pool create makes one");
}

static int broken(const struct hutch *h, const char *how, struct hutch_error *e)
{
	return error_set(e, HUTCH_PROTOCOL, "pool '%s' sent an invalid reply: %s",
		     h->name, how);
}

/* Reads bytes of the keeper's answer, and the descriptor that may come beside the
 * first byte of a line.  Returns 1 if bytes came. */
static int receive(struct hutch *h, struct hutch_error *e)
{
	struct reader *in = &h->in;
	int fd = -1;

	if (in->end == in->room)
		return broken(h, "its answer is too long", e);
	const ssize_t n =
		fd_pass_receive(h->socket, in->bytes + in->end, in->room - in->end, &fd);
	if (fd != -1) {
		own_close(&h->handed);
		h->handed = fd;
	}
	if (n > 0) {
		in->end += (size_t)n;
		return 1;
	}
	if (n == 0 || errno == ECONNRESET)
		return gone(h, e);
	if (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS)
		return 0;
	return error_sys(e, "read from the keeper of pool '%s'", h->name);
}

/* Takes the sandbox's name and the connection to it. */
static int take_answer(struct hutch *h, struct json_view line, struct hutch_error *e)
{
	if (h->handed == FD_PASS_LOST)
		return handle_lost(h, e);
	if (h->handed < 0 || !handle_rename(h, json_view_get(line, "result.sandbox")))
		return broken(h, "it handed out no sandbox", e);
	handle_drop(h, &h->socket);
	h->socket = fd_take(&h->handed);
	reader_done(h);
	return 1;
}

/* Handles one line of the keeper's answer.  A live keeper answers hello in time, so
 * the timer is stopped then; the sandbox may still have to be made, which may take
 * long. */
static int take_line(struct hutch *h, const char *text, size_t len, struct hutch_error *e)
{
	struct json_view line;
	int64_t id = 0;

	if (json_view_scan(&line, text, len, NULL) < 0)
		return broken(h, "a line is no JSON", e);
	const struct json_view error = json_view_get(line, "error");
	if (error.text)
		return error_pool(e, h->name, error);
	if (!json_view_integer(json_view_get(line, "id"), &id))
		return broken(h, "an id that is no number", e);
	if (id == ASK_HELLO && h->timer >= 0) {
		handle_drop(h, &h->timer);
		return 0;
	}
	if (id != ASK_TAKE || h->timer >= 0)
		return broken(h, "an answer without a request", e);
	return take_answer(h, line, e);
}

static int take_lines(struct hutch *h, struct hutch_error *e)
{
	struct reader *in = &h->in;
	int rc = 0;

	while (rc == 0) {
		const char *start = in->bytes + in->start;
		const char *end = memchr(start, '\n', in->end - in->start);
		if (!end)
			return 0;
		in->start += (size_t)(end - start) + 1;
		rc = take_line(h, start, (size_t)(end - start), e);
	}
	return rc;
}

int pool_take_step(struct hutch *h, bool *ret_went_on, struct hutch_error *e)
{
	const int got = receive(h, e);

	*ret_went_on = got != 0;
	return got <= 0 ? got : take_lines(h, e);
}
