#include "executor/terminal/scrollback.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "executor/terminal/row.h"

#define ROOM_MIN 1024

void scrollback_done(struct scrollback *b)
{
	free(b->data);
	*b = (struct scrollback){ 0 };
}

static size_t kept(const struct scrollback *b)
{
	return b->end - b->start;
}

/* Makes room for `more` bytes at the end. If half of the room will be free then, moves
 * the kept bytes to the front, so that on average each byte is moved once. Otherwise
 * allocates a larger room. */
static void make_room(struct scrollback *b, size_t more)
{
	size_t room = b->room ? b->room : ROOM_MIN;

	if (b->end + more <= b->room)
		return;
	while (room < 2 * (kept(b) + more))
		room *= 2;
	if (room > b->room) {
		uint8_t *data = mem_new(room);
		if (kept(b) > 0)
			memcpy(data, b->data + b->start, kept(b));
		free(b->data);
		b->data = data;
		b->room = room;
	} else {
		memmove(b->data, b->data + b->start, kept(b));
	}
	b->end = kept(b);
	b->start = 0;
}

static void drop(struct scrollback *b, size_t len)
{
	b->start += len;
	b->gone += len;
}

/* Drops the first line. If there is only one, incomplete line, drops half of it. */
static void drop_line(struct scrollback *b)
{
	const uint8_t *at = b->data + b->start;
	const uint8_t *end = memchr(at, '\n', kept(b));

	if (!end) {
		drop(b, kept(b) / 2);
		while (kept(b) > 0 && (b->data[b->start] & 0xc0) == 0x80)
			drop(b, 1);
		return;
	}
	drop(b, (size_t)(end - at) + 1);
	b->lines--;
}

void scrollback_add(struct scrollback *b, const struct row *r)
{
	make_room(b, (size_t)r->used * (r->is_broad ? ROW_CELL_BYTES : 1) + 1);
	b->end += row_utf8(r, 0, r->used, b->data + b->end);
	if (!r->wraps) {
		b->data[b->end++] = '\n';
		b->lines++;
	}
	while (b->lines > SCROLLBACK_LINES || kept(b) > SCROLLBACK_MAX)
		drop_line(b);
}

void scrollback_clear(struct scrollback *b)
{
	uint64_t end = scrollback_end(b);

	scrollback_done(b);
	b->gone = end;
}

uint64_t scrollback_end(const struct scrollback *b)
{
	return b->gone + kept(b);
}

const uint8_t *scrollback_from(const struct scrollback *b, uint64_t place,
			       size_t *ret_len)
{
	size_t skip = place > b->gone ? (size_t)(place - b->gone) : 0;

	if (skip > kept(b))
		skip = kept(b);
	*ret_len = kept(b) - skip;
	return b->data ? b->data + b->start + skip : NULL;
}

uint64_t scrollback_line(const struct scrollback *b, uint64_t place)
{
	size_t len, before;
	const uint8_t *all = scrollback_from(b, 0, &len);

	if (place <= b->gone || len == 0)
		return b->gone;
	before = (size_t)(place - b->gone) < len ? (size_t)(place - b->gone) : len;
	const uint8_t *end = memrchr(all, '\n', before);
	return b->gone + (end ? (size_t)(end - all) + 1 : 0);
}
