/* The executor is inside, so arbitrary bytes come from it, cut anywhere.  They
 * go through a real socket into the supervisor's channel and are decoded by
 * type, as the supervisor does.  The first byte of the input gives the length
 * of the pieces. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "sandbox/launch/channel.h"

#define BUFFER_MAX (2 * (FRAME_MAX_FROM_EXECUTOR + FRAME_HEADER))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A report's texts end, and its exit code is valid or absent. */
static int decode_report(const struct frame *f, struct err *e)
{
	struct report r;

	if (action_get_report(f, &r, e) < 0)
		return -1;
	if (strlen(r.cwd) >= PATH_MAX || strlen(r.interpreter) >= PATH_MAX ||
	    (r.exit_code > 255 && r.exit_code != ACTION_NO_CODE) ||
	    r.state == REPORT_NONE || r.state >= REPORT_STATE_COUNT ||
	    r.background > INT32_MAX)
		abort();
	return 0;
}

static int decode_done(const struct frame *f, struct err *e)
{
	struct done d;

	if (action_get_done(f, &d, e) < 0)
		return -1;
	if (strlen(d.path) >= PATH_MAX || strlen(d.cwd) >= PATH_MAX ||
	    d.outcome >= OUTCOME_FILE_COUNT || d.sys > 4095)
		abort();
	return 0;
}

static int decode_edited(const struct frame *f, struct err *e)
{
	struct edited x;

	if (action_get_edited(f, &x, e) < 0)
		return -1;
	if (x.outcome >= OUTCOME_COUNT || x.cut > ACTION_CUT_MAX)
		abort();
	return 0;
}

static int decode_returned(const struct frame *f, struct err *e)
{
	struct returned x;

	if (action_get_returned(f, &x, e) < 0)
		return -1;
	if (strlen(x.path) >= PATH_MAX || strlen(x.cwd) >= PATH_MAX ||
	    strlen(x.stat.target) >= PATH_MAX || x.outcome >= OUTCOME_COUNT ||
	    x.sys > 4095 || x.cut > ACTION_CUT_MAX || x.stat.size > ACTION_CUT_MAX ||
	    x.stat.nanoseconds > 999999999 || (x.stat.mode && x.outcome != OUTCOME_DONE))
		abort();
	return 0;
}

static int decode_closed(const struct frame *f, struct err *e)
{
	uint32_t sys;

	if (message_get_closed(f, &sys, e) < 0)
		return -1;
	if (sys > 4095 || !(f->id & DIAL_ID))
		abort();
	return 0;
}

static int decode_text(const struct frame *f, struct err *e)
{
	struct bytes text;
	unsigned sum = 0;

	if (action_get_text(f, &text, e) < 0)
		return -1;
	if (text.len == 0 || text.len > ACTION_CHUNK)
		abort();
	for (size_t i = 0; i < text.len; i++)
		sum += text.data[i]; /* reads each byte */
	(void)sum;
	return 0;
}

/* Decodes a frame; every value that is accepted must be one that the supervisor can
 * use. */
static int decode(const struct frame *f, struct err *e)
{
	struct hello hello;
	struct failed failed;
	struct exited exited;
	uint32_t pid;

	switch (f->type) {
	case MSG_HELLO:
		return message_get_hello(f, &hello, e);
	case MSG_STARTED:
		return message_get_started(f, &pid, e);
	case MSG_FAILED:
		if (message_get_failed(f, &failed, e) < 0)
			return -1;
		if (!*exec_stage_name(failed.stage) || !failed.sys || failed.sys > 4095)
			abort();
		return 0;
	case MSG_EXITED:
		if (message_get_exited(f, &exited, e) < 0)
			return -1;
		if (exited.status > (exited.is_signaled ? 64 : 255))
			abort();
		return 0;
	case MSG_OUTPUT:
	case MSG_CONTENT:
		return decode_text(f, e);
	case MSG_REPORT:
		return decode_report(f, e);
	case MSG_DONE:
		return decode_done(f, e);
	case MSG_EDITED:
		return decode_edited(f, e);
	case MSG_RETURNED:
		return decode_returned(f, e);
	case MSG_FINISHED:
		return message_get_word(f, e);
	case MSG_CLOSED:
		return decode_closed(f, e);
	default:
		return err_set(e, ERR_PROTOCOL, "type %u", f->type);
	}
}

/* Receives what the executor sent.  Returns false if the supervisor would have ended
 * the sandbox. */
static int take(struct channel *c)
{
	struct err e = { 0 };
	struct frame f;
	int got, open = channel_fill(c, &e);

	if (buffer_len(&c->in) > BUFFER_MAX)
		abort();
	while (open >= 0 && (got = channel_next(c, &f, &e)) != 0) {
		if (got > 0 && f.len > FRAME_MAX_FROM_EXECUTOR)
			abort();
		if (got > 0 && decode(&f, &e) == 0) {
			channel_took(c, &f);
			continue;
		}
		open = -1;
	}
	if (open < 0 && (e.kind != ERR_PROTOCOL || !e.text[0]))
		abort(); /* the channel broke without a reason */
	return open == CHANNEL_READ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct channel c;
	int pair[2];

	if (size == 0)
		return 0;
	size_t piece = (size_t)data[0] * 32 + 1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	channel_init(&c, pair[0]);
	for (size_t at = 1; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		if (send(pair[1], data + at, len, MSG_NOSIGNAL) != (ssize_t)len)
			abort();
		if (!take(&c))
			break;
	}
	(void)close(pair[1]);
	while (take(&c))
		; /* receives until the end of the channel */
	channel_done(&c);
	(void)close(pair[0]);
	return 0;
}
