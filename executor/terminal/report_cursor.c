#include "executor/terminal/report_cursor.h"

#include <stdlib.h>

#include "base/mem.h"
#include "executor/terminal/grid.h"

static const struct row empty;

void report_cursor_done(struct report_cursor *t)
{
	free(t->marks);
	*t = (struct report_cursor){ 0 };
}

static const struct row *row_at(const struct grid *s, unsigned i)
{
	const struct row *r = grid_look(s, i);

	return r ? r : &empty;
}

static uint64_t mark_of(const struct row *r)
{
	return row_hash(r, row_length(r)) ^ r->wraps;
}

void report_cursor_note(struct report_cursor *t, const struct grid *s)
{
	unsigned count = grid_used(s);

	report_cursor_done(t);
	if (count == 0)
		return;
	t->marks = mem_new(count * sizeof(*t->marks));
	for (unsigned i = 0; i + 1 < count; i++)
		t->marks[i] = mark_of(row_at(s, i));
	t->cells = row_length(row_at(s, count - 1));
	t->marks[count - 1] = row_hash(row_at(s, count - 1), t->cells);
	t->count = count;
}

static bool is_last(const struct report_cursor *t, unsigned i)
{
	return i + 1 == t->count;
}

static bool is_as_it_was(const struct report_cursor *t, unsigned i, const struct row *r)
{
	return t->marks[i] == (is_last(t, i) ? row_hash(r, t->cells) : mark_of(r));
}

int report_cursor_pass(struct report_cursor *t, const struct row *r, bool *ret_whole)
{
	unsigned i = t->first;

	*ret_whole = false;
	if (i == t->count)
		return 0;
	if (!is_as_it_was(t, i, r)) {
		report_cursor_done(t);
		return -1;
	}
	t->first++;
	*ret_whole = !is_last(t, i);
	return (int)(is_last(t, i) ? t->cells : r->used);
}

static unsigned line_of(const struct grid *s, unsigned i)
{
	while (i > 0 && row_at(s, i - 1)->wraps)
		i--;
	return i;
}

struct report_cursor_place report_cursor_place(const struct report_cursor *t,
					       const struct grid *s)
{
	for (unsigned i = t->first; i < t->count; i++)
		if (!is_as_it_was(t, i, row_at(s, i - t->first)))
			return (struct report_cursor_place){
				.row = line_of(s, i - t->first), .is_change = true
			};
	if (t->first == t->count)
		return (struct report_cursor_place){ 0 };
	return (struct report_cursor_place){ .row = t->count - 1 - t->first,
					     .col = t->cells };
}
