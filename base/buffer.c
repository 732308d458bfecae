#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buffer_init(struct buffer *b, size_t max)
{
	*b = (struct buffer){ .max = max };
}

void buffer_done(struct buffer *b)
{
	if (!b)
		return;
	free(b->bytes);
	*b = (struct buffer){ 0 };
}

const uint8_t *buffer_data(const struct buffer *b)
{
	static const uint8_t nothing;

	return b->bytes ? b->bytes + b->start : &nothing;
}

size_t buffer_len(const struct buffer *b)
{
	return b->end - b->start;
}

/* Moves the unconsumed bytes to the front, so that consumed room can be used
 * again. */
static void compact(struct buffer *b)
{
	if (b->start == 0)
		return;
	memmove(b->bytes, b->bytes + b->start, b->end - b->start);
	b->end -= b->start;
	b->start = 0;
}

/* Makes the buffer larger.  realloc(3) copies all of the old room or moves its pages: a
 * buffer with little in it is copied by hand, since its other pages were never touched,
 * and a copy would bring all of them into memory. */
static void grow(struct buffer *b, size_t room)
{
	if (b->end >= b->room / 2) {
		b->bytes = mem_resize(b->bytes, room, 1);
	} else {
		uint8_t *bytes = mem_new(room);
		memcpy(bytes, b->bytes, b->end);
		free(b->bytes);
		b->bytes = bytes;
	}
	b->room = room;
}

uint8_t *buffer_reserve(struct buffer *b, size_t len)
{
	size_t have = buffer_len(b);

	if (len > b->max || have > b->max - len)
		return NULL;
	if (b->room - b->end >= len && b->bytes)
		return b->bytes + b->end;
	/* After compaction the buffer must have a quarter of its content as spare
	 * room; with less, it would be compacted again after every few bytes. */
	size_t spare = b->start > 0 ? have / 4 : 0;
	if (b->bytes)
		compact(b);
	if ((b->room - b->end < len + spare && b->room < b->max) || !b->bytes) {
		size_t room = b->room ? b->room : 256;
		while (room < have + len + spare)
			room *= 2;
		/* The bytes that are needed (have + len) are within the bound, so
		 * limiting the size to the bound takes only spare room away. */
		if (room > b->max)
			room = b->max;
		grow(b, room);
	}
	return b->bytes + b->end;
}

void buffer_added(struct buffer *b, size_t len)
{
	b->end += len;
}

bool buffer_append(struct buffer *b, const void *data, size_t len)
{
	uint8_t *to = buffer_reserve(b, len);

	if (!to)
		return false;
	if (len)
		memcpy(to, data, len);
	buffer_added(b, len);
	return true;
}

void buffer_consume(struct buffer *b, size_t len)
{
	if (len > buffer_len(b))
		len = buffer_len(b);
	b->start += len;
	if (b->start == b->end)
		b->start = b->end = 0;
}
