#include "executor/wire/send_queue.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "executor/wire/channel.h"
#include "protocol/action.h"

/* The number of bytes whose base64 fills one message of ACTION_CHUNK. */
#define BASE64_CHUNK (ACTION_CHUNK / 4 * 3)

static void drop_first(struct send_queue *a)
{
	struct reply *gone = a->first;

	a->bytes -= gone->len;
	a->first = gone->next;
	if (!a->first)
		a->last = NULL;
	free(gone->bytes);
	buffer_done(&gone->end);
	free(gone);
}

void send_queue_done(struct send_queue *a)
{
	while (a->first)
		drop_first(a);
}

void send_queue_add(struct send_queue *a, const struct reply *from)
{
	struct reply *mine = mem_copy(from, sizeof(*from));

	mine->next = NULL;
	if (a->last)
		a->last->next = mine;
	else
		a->first = mine;
	a->last = mine;
	a->bytes += mine->len;
}

bool send_queue_is_empty(const struct send_queue *a)
{
	return !a->first;
}

bool send_queue_is_full(const struct send_queue *a)
{
	return a->bytes >= SEND_QUEUE_HIGH;
}

static int send_base64(struct reply *x, struct buffer *out, struct err *e)
{
	size_t left = x->len - x->sent, n = left < BASE64_CHUNK ? left : BASE64_CHUNK;
	uint8_t *text = mem_new(ACTION_CHUNK);
	struct bytes chunk = { text, base64_encode(x->bytes + x->sent, n, text) };
	int put = action_put_text(out, x->type, x->id, chunk, e);
	free(text);
	x->sent += n;
	return put;
}

/* Puts the next part of a text into a message.  The part ends where a character ends, so
 * that each message is UTF-8 if the whole text is. */
static int send_text(struct reply *x, struct buffer *out, struct err *e)
{
	const uint8_t *at = x->bytes + x->sent;
	size_t left = x->len - x->sent, n = left;

	if (left > ACTION_CHUNK) {
		n = ACTION_CHUNK;
		while (n > ACTION_CHUNK - 4 && (at[n] & 0xc0) == 0x80)
			n--;
	}
	x->sent += n;
	return action_put_text(out, x->type, x->id, (struct bytes){ at, n }, e);
}

int send_queue_send(struct send_queue *a, struct channel *c, struct err *e)
{
	while (a->first && !channel_is_full(c)) {
		struct reply *x = a->first;
		if (x->sent < x->len) {
			int put = x->is_base64 ? send_base64(x, &c->out, e)
					       : send_text(x, &c->out, e);
			if (put < 0)
				return -1;
			continue;
		}
		if (!buffer_append(&c->out, buffer_data(&x->end), buffer_len(&x->end)))
			return err_set(e, ERR_INTERNAL, "the channel's queue is full");
		drop_first(a);
	}
	return 0;
}
