#include "executor/terminal/row.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHAR_BITS 21
#define CHAR_MASK ((UINT64_C(1) << CHAR_BITS) - 1)
#define CHARS_MAX 3

#define BLANK ((uint64_t)' ')

static uint64_t *broad(const struct row *r)
{
	return r->cells;
}

static uint8_t *slim(const struct row *r)
{
	return r->cells;
}

uint64_t row_cell(const uint32_t *chars, size_t count)
{
	uint64_t cell = 0;

	for (size_t i = 0; i < count && i < CHARS_MAX; i++)
		cell |= (chars[i] & CHAR_MASK) << (i * CHAR_BITS);
	return cell;
}

static uint64_t cell_at(const struct row *r, unsigned col)
{
	if (col >= r->used)
		return BLANK;
	return r->is_broad ? broad(r)[col] : slim(r)[col];
}

/* --- room ------------------------------------------------------------------ */

static size_t cell_size(const struct row *r)
{
	return r->is_broad ? sizeof(uint64_t) : 1;
}

/* Makes room for `bytes` bytes. The room is doubled each time, so that a row which grows
 * by single characters is not copied for each of them. */
static bool make_room(struct row *r, size_t bytes, size_t *budget)
{
	size_t room = r->room ? r->room : 32;

	if (bytes <= r->room)
		return true;
	while (room < bytes)
		room *= 2;
	if (room > UINT16_MAX)
		room = UINT16_MAX;
	if (bytes > room || room - r->room > *budget)
		return false;
	*budget -= room - r->room;
	r->cells = mem_resize(r->cells, room, 1);
	r->room = (uint16_t)room;
	return true;
}

/* Extends the row to `end` cells; the added ones are blank. */
static bool reach(struct row *r, unsigned end, size_t *budget)
{
	if (end <= r->used)
		return true;
	if (!make_room(r, end * cell_size(r), budget))
		return false;
	if (!r->is_broad)
		memset(slim(r) + r->used, ' ', end - r->used);
	else
		for (unsigned i = r->used; i < end; i++)
			broad(r)[i] = BLANK;
	r->used = (uint16_t)end;
	return true;
}

static bool become_broad(struct row *r, size_t *budget)
{
	if (r->is_broad)
		return true;
	if (!make_room(r, r->used * sizeof(uint64_t), budget))
		return false;
	for (unsigned i = r->used; i-- > 0;)
		broad(r)[i] = slim(r)[i];
	r->is_broad = true;
	return true;
}

/* --- writing --------------------------------------------------------------- */

/* Called before the cells from `col` to before `end` are overwritten. If only one half of
 * a double-width character is overwritten, blanks the other half. */
static void part(struct row *r, unsigned col, unsigned end)
{
	if (!r->is_broad)
		return;
	if (col > 0 && col < r->used && broad(r)[col] == ROW_TAIL)
		broad(r)[col - 1] = BLANK;
	if (end < r->used && broad(r)[end] == ROW_TAIL)
		broad(r)[end] = BLANK;
}

void row_put_ascii(struct row_place at, const uint8_t *text, size_t len)
{
	struct row *r = at.row;
	unsigned end = at.col + (unsigned)len;

	part(r, at.col, end);
	/* Added cells are overwritten at once, so they are not blanked first. */
	if (!r->is_broad && at.col == r->used && make_room(r, end, at.budget))
		r->used = (uint16_t)end;
	if (!reach(r, end, at.budget))
		return;
	if (!r->is_broad) {
		memcpy(slim(r) + at.col, text, len);
		return;
	}
	for (size_t i = 0; i < len; i++)
		broad(r)[at.col + i] = text[i];
}

void row_put_cells(struct row_place at, const uint64_t *cells, size_t len)
{
	struct row *r = at.row;
	unsigned end = at.col + (unsigned)len;

	if (!become_broad(r, at.budget))
		return;
	part(r, at.col, end); /* before reach(), since part() may touch only cells that
			       * exist already */
	if (at.col == r->used && make_room(r, end * sizeof(*cells), at.budget))
		r->used = (uint16_t)end;
	if (!reach(r, end, at.budget))
		return;
	memcpy(broad(r) + at.col, cells, len * sizeof(*cells));
}

void row_put(struct row_place at, uint64_t cell, unsigned width)
{
	struct row *r = at.row;
	uint8_t ascii = (uint8_t)cell;

	if (cell < 0x80 && width == 1) {
		row_put_ascii(at, &ascii, 1);
		return;
	}
	if (!become_broad(r, at.budget) || !reach(r, at.col + width, at.budget))
		return;
	part(r, at.col, at.col + width);
	broad(r)[at.col] = cell;
	for (unsigned i = 1; i < width; i++)
		broad(r)[at.col + i] = ROW_TAIL;
}

void row_erase(struct row *r, unsigned col, unsigned end)
{
	if (end >= r->used)
		r->wraps = false;
	if (col >= r->used)
		return;
	part(r, col, end);
	if (end >= r->used) {
		r->used = (uint16_t)col;
		if (col == 0)
			r->is_broad = false;
		return;
	}
	if (!r->is_broad)
		memset(slim(r) + col, ' ', end - col);
	else
		for (unsigned i = col; i < end; i++)
			broad(r)[i] = BLANK;
}

static void move_cells(struct row *r, unsigned to, unsigned from, unsigned count)
{
	size_t size = cell_size(r);
	uint8_t *cells = r->cells;

	memmove(cells + to * size, cells + from * size, count * size);
}

static void insert_cells(struct row_place at, unsigned count, unsigned width)
{
	struct row *r = at.row;
	unsigned kept = r->used - at.col;

	if (count > width - at.col)
		count = width - at.col;
	if (at.col + count + kept > width)
		kept = width - at.col - count;
	part(r, at.col, at.col);
	part(r, at.col + kept, r->used);
	if (!reach(r, at.col + count + kept, at.budget))
		return;
	move_cells(r, at.col + count, at.col, kept);
	bool wraps = r->wraps;
	if (at.col + count < r->used)
		row_erase(r, at.col, at.col + count);
	else
		r->used = (uint16_t)at.col;
	r->wraps = wraps;
}

void row_shift(struct row_place at, int by, unsigned width)
{
	struct row *r = at.row;
	unsigned count = (unsigned)abs(by);

	if (at.col >= r->used || at.col >= width)
		return;
	if (by > 0) {
		insert_cells(at, count, width);
		return;
	}
	if (count > r->used - at.col)
		count = r->used - at.col;
	part(r, at.col, at.col + count);
	move_cells(r, at.col, at.col + count, r->used - at.col - count);
	r->used = (uint16_t)(r->used - count);
}

void row_clear(struct row *r)
{
	r->used = 0;
	r->is_broad = r->wraps = false;
}

void row_done(struct row *r, size_t *budget)
{
	*budget += r->room;
	free(r->cells);
	*r = (struct row){ 0 };
}

/* --- reading --------------------------------------------------------------- */

unsigned row_length(const struct row *r)
{
	unsigned n = r->used;

	while (n > 0 && cell_at(r, n - 1) == BLANK)
		n--;
	return n;
}

static size_t put_char(uint8_t *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (uint8_t)(0xc0 | c >> 6);
		to[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (uint8_t)(0xe0 | c >> 12);
		to[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		to[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (uint8_t)(0xf0 | c >> 18);
	to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	to[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	to[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

static size_t put_cell(uint8_t *to, uint64_t cell)
{
	size_t len = 0;

	if (cell == ROW_TAIL)
		return 0;
	do
		len += put_char(to + len, (uint32_t)(cell & CHAR_MASK));
	while (cell >>= CHAR_BITS);
	return len;
}

size_t row_char(const struct row *r, unsigned *col, uint8_t to[4])
{
	unsigned at = *col;

	if (at > 0 && cell_at(r, at) == ROW_TAIL)
		at--;
	uint64_t cell = cell_at(r, at);
	if (at >= r->used || cell > CHAR_MASK)
		return 0;
	*col = at;
	return put_char(to, (uint32_t)cell);
}

size_t row_utf8(const struct row *r, unsigned from, unsigned end, uint8_t *to)
{
	size_t len = 0;

	if (end > r->used)
		end = r->used;
	if (from >= end)
		return 0;
	if (!r->is_broad) {
		memcpy(to, slim(r) + from, end - from);
		return end - from;
	}
	for (unsigned i = from; i < end; i++)
		len += put_cell(to + len, broad(r)[i]);
	return len;
}

size_t row_bytes(const struct row *r, unsigned end)
{
	uint8_t bytes[ROW_CELL_BYTES];
	size_t len = 0;

	if (end > r->used)
		end = r->used;
	if (!r->is_broad)
		return end;
	for (unsigned i = 0; i < end; i++)
		len += put_cell(bytes, broad(r)[i]);
	return len;
}

/* Returns FNV-1a over the cells, not over the bytes, so that the same text has the same
 * hash whether a row has one byte a cell or eight. */
uint64_t row_hash(const struct row *r, unsigned end)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned i = 0; i < end; i++)
		hash = (hash ^ cell_at(r, i)) * UINT64_C(0x100000001b3);
	return hash;
}
