#include "mcp/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void capture_init(struct capture *c)
{
	*c = (struct capture){ 0 };
	buffer_init(&c->head, CAPTURE_HALF);
	buffer_init(&c->tail, 2 * CAPTURE_HALF);
}

void capture_done(struct capture *c)
{
	buffer_done(&c->head);
	buffer_done(&c->tail);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void capture_add(struct capture *c, const void *bytes, size_t len)
{
	const char *at = bytes;
	const size_t first = smaller(len, CAPTURE_HALF - buffer_len(&c->head));

	c->seen += len;
	if (first)
		(void)buffer_append(&c->head, at, first); /* there is room */
	at += first;
	len -= first;
	if (len > CAPTURE_HALF) {
		at += len - CAPTURE_HALF;
		len = CAPTURE_HALF;
	}
	if (buffer_len(&c->tail) + len > CAPTURE_HALF)
		buffer_consume(&c->tail, buffer_len(&c->tail) + len - CAPTURE_HALF);
	if (len)
		(void)buffer_append(&c->tail, at, len); /* there is room */
}

uint64_t capture_lost(const struct capture *c)
{
	return c->seen - buffer_len(&c->head) - buffer_len(&c->tail);
}

char *capture_text(const struct capture *c, size_t *ret_len)
{
	const size_t head = buffer_len(&c->head), tail = buffer_len(&c->tail);
	char between[64] = "";
	char *text = mem_new(head + tail + sizeof(between) + 1);

	if (capture_lost(c))
		(void)snprintf(between, sizeof(between),
			       "\n[... %" PRIu64 " bytes are left out ...]\n",
			       capture_lost(c));
	const size_t middle = strlen(between);
	memcpy(text, buffer_data(&c->head), head);
	memcpy(text + head, between, middle);
	memcpy(text + head + middle, buffer_data(&c->tail), tail);
	*ret_len = head + middle + tail;
	text[*ret_len] = '\0';
	return text;
}
