#include "executor/replies.h"

#include <stdlib.h>

#include "base/action.h"
#include "base/err.h"
#include "base/mem.h"
#include "executor/channel.h"

/* So many bytes are one message as base64. */
#define BASE64_CHUNK (ACTION_CHUNK / 4 * 3)

static void drop_first(struct replies *a)
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

void replies_done(struct replies *a)
{
	while (a->first)
		drop_first(a);
}

void replies_add(struct replies *a, const struct reply *from)
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

bool replies_is_empty(const struct replies *a)
{
	return !a->first;
}

bool replies_is_full(const struct replies *a)
{
	return a->bytes >= REPLIES_HIGH;
}

/* RFC 4648, 4.  `to` has room for 4 bytes for each 3. */
static size_t encode_base64(const uint8_t *from, size_t len, uint8_t *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t out = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i;
		uint32_t v = (uint32_t)from[i] << 16;
		if (have > 1)
			v |= (uint32_t)from[i + 1] << 8;
		if (have > 2)
			v |= from[i + 2];
		to[out++] = (uint8_t)digits[v >> 18];
		to[out++] = (uint8_t)digits[v >> 12 & 63];
		to[out++] = have > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		to[out++] = have > 2 ? (uint8_t)digits[v & 63] : '=';
	}
	return out;
}

static int send_base64(struct reply *x, struct buffer *out, struct err *e)
{
	size_t left = x->len - x->sent, n = left < BASE64_CHUNK ? left : BASE64_CHUNK;
	uint8_t *text = mem_new(ACTION_CHUNK);
	struct bytes chunk = { text, encode_base64(x->bytes + x->sent, n, text) };
	int put = action_put_text(out, x->type, x->id, chunk, e);
	free(text);
	x->sent += n;
	return put;
}

/* At a character's begin, so that each message is UTF-8 where the whole is. */
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

int replies_send(struct replies *a, struct channel *c, struct err *e)
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
