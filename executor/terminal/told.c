#include "executor/terminal/told.h"

#include <stdlib.h>

#include "base/mem.h"
#include "executor/terminal/sheet.h"

static const struct row empty;

void told_done(struct told *t)
{
	free(t->marks);
	*t = (struct told){ 0 };
}

static const struct row *row_at(const struct sheet *s, unsigned i)
{
	const struct row *r = sheet_look(s, i);

	return r ? r : &empty;
}

static uint64_t mark_of(const struct row *r)
{
	return row_hash(r, row_length(r)) ^ r->wraps;
}

void told_note(struct told *t, const struct sheet *s)
{
	unsigned count = sheet_used(s);

	told_done(t);
	if (count == 0)
		return;
	t->marks = mem_new(count * sizeof(*t->marks));
	for (unsigned i = 0; i + 1 < count; i++)
		t->marks[i] = mark_of(row_at(s, i));
	t->cells = row_length(row_at(s, count - 1));
	t->marks[count - 1] = row_hash(row_at(s, count - 1), t->cells);
	t->count = count;
}

static bool is_last(const struct told *t, unsigned i)
{
	return i + 1 == t->count;
}

static bool is_as_it_was(const struct told *t, unsigned i, const struct row *r)
{
	return t->marks[i] == (is_last(t, i) ? row_hash(r, t->cells) : mark_of(r));
}

int told_pass(struct told *t, const struct row *r, bool *ret_whole)
{
	unsigned i = t->first;

	*ret_whole = false;
	if (i == t->count)
		return 0;
	if (!is_as_it_was(t, i, r)) {
		told_done(t);
		return -1;
	}
	t->first++;
	*ret_whole = !is_last(t, i);
	return (int)(is_last(t, i) ? t->cells : r->used);
}

static unsigned line_of(const struct sheet *s, unsigned i)
{
	while (i > 0 && row_at(s, i - 1)->wraps)
		i--;
	return i;
}

struct told_place told_place(const struct told *t, const struct sheet *s)
{
	for (unsigned i = t->first; i < t->count; i++)
		if (!is_as_it_was(t, i, row_at(s, i - t->first)))
			return (struct told_place){ .row = line_of(s, i - t->first),
						    .is_change = true };
	if (t->first == t->count)
		return (struct told_place){ 0 };
	return (struct told_place){ .row = t->count - 1 - t->first, .col = t->cells };
}
