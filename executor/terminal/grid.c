#include "executor/terminal/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void grid_done(struct grid *s)
{
	for (unsigned i = 0; i < s->made; i++)
		row_done(&s->rows[i], s->budget);
	free(s->rows);
	s->rows = NULL;
	s->count = s->made = s->room = s->first = 0;
}

/* Returns row `i` of the ring. `first` is 0 until all `height` rows are allocated, so the
 * index is never beyond the allocated rows. */
static struct row *place(const struct grid *s, unsigned i)
{
	unsigned at = s->first + i;

	return &s->rows[at >= s->height ? at - s->height : at];
}

static void grow(struct grid *s, unsigned count)
{
	unsigned room = s->room ? s->room : 4;

	while (room < count)
		room *= 2;
	if (room > s->height)
		room = s->height;
	if (room > s->room) {
		s->rows = mem_resize(s->rows, room, sizeof(*s->rows));
		s->room = room;
	}
	memset(s->rows + s->made, 0, (count - s->made) * sizeof(*s->rows));
	s->made = count;
}

struct row *grid_row(struct grid *s, unsigned i)
{
	if (i >= s->made)
		grow(s, i + 1);
	if (i >= s->count)
		s->count = i + 1;
	return place(s, i);
}

struct row *grid_look(const struct grid *s, unsigned i)
{
	return i < s->count ? place(s, i) : NULL;
}

unsigned grid_used(const struct grid *s)
{
	unsigned n = s->count;

	while (n > 0 && row_length(place(s, n - 1)) == 0)
		n--;
	return n;
}

void grid_trim(struct grid *s)
{
	while (s->count > 0 && place(s, s->count - 1)->used == 0)
		row_clear(place(s, --s->count));
}

void grid_clear(struct grid *s)
{
	while (s->count > 0)
		row_clear(place(s, --s->count));
}

static void swap(struct row *a, struct row *b)
{
	struct row other = *a;

	*a = *b;
	*b = other;
}

/* Moves the rows between `top` and `bottom` by `by`. The rows that are moved out at one
 * side are blanked and used again at the other side. */
static void move(struct grid *s, unsigned top, unsigned bottom, int by)
{
	unsigned count = (unsigned)abs(by);

	if (by > 0)
		for (unsigned i = top; i + count < bottom; i++)
			swap(place(s, i), place(s, i + count));
	else
		for (unsigned i = bottom; i-- > top + count;)
			swap(place(s, i), place(s, i - count));
	unsigned blank = by > 0 ? bottom - count : top;
	for (unsigned i = 0; i < count; i++)
		row_clear(place(s, blank + i));
}

static int limited(int by, unsigned rows)
{
	if (by > (int)rows)
		return (int)rows;
	return by < -(int)rows ? -(int)rows : by;
}

unsigned grid_scroll(struct grid *s, unsigned top, unsigned bottom, int by)
{
	if (bottom > s->height || top >= bottom || top >= s->count)
		return 0;
	by = limited(by, bottom - top);
	if (by == 1 && top == 0 && bottom == s->height && s->count == s->height) {
		row_clear(place(s, 0));
		s->first = s->first + 1 == s->height ? 0 : s->first + 1;
		return 1;
	}
	/* Rows at the bottom that were never allocated are blank, so moving up needs none
	 * of them. Moving down allocates the rows that get content. */
	if (by < 0 && s->count < bottom)
		grid_row(s, s->count - (unsigned)by < bottom ? s->count - (unsigned)by - 1
							      : bottom - 1);
	if (bottom > s->count)
		bottom = s->count;
	move(s, top, bottom, limited(by, bottom - top));
	return bottom - top;
}
