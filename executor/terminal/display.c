#include "executor/terminal/display.h"

#include <string.h>

#include "base/mem.h"

static struct grid *grid_of(struct display *d)
{
	return &d->grids[d->is_second];
}

void display_init(struct display *d, unsigned rows, unsigned cols)
{
	*d = (struct display){ .rows = rows, .cols = cols, .budget = DISPLAY_CELLS };
	for (int i = 0; i < 2; i++)
		d->grids[i] = (struct grid){ .height = rows, .budget = &d->budget };
}

void display_clear(struct display *d)
{
	for (int i = 0; i < 2; i++) {
		grid_done(&d->grids[i]);
		report_cursor_done(&d->cursors[i]);
	}
	scrollback_done(&d->back);
	d->is_second = d->is_changed = false;
	d->reported_to = 0;
}

/* --- drawing --------------------------------------------------------------- */

static void count_cells(struct display *d, size_t cells)
{
	d->work += 1 + cells / DISPLAY_UNIT_CELLS;
}

static struct row_place place(struct display *d, unsigned row, unsigned col)
{
	return (struct row_place){ grid_row(grid_of(d), row), &d->budget, col };
}

/* Returns where to write `cells` cells of a row from `col` on, and counts the work for
 * that. The work includes blanking the cells between the row's last cell and `col`, and
 * converting a row of ASCII to a broad one (row.h). */
static struct row_place place_for(struct display *d, unsigned row, unsigned col,
				  size_t cells, bool is_broad)
{
	struct row_place p = place(d, row, col);
	const struct row *r = p.row;
	size_t blanked = col > r->used ? col - r->used : 0;

	count_cells(d, 16 + cells + blanked + (is_broad && !r->is_broad ? r->used : 0));
	return p;
}

void display_put_ascii(struct display *d, unsigned row, unsigned col,
		       const uint8_t *text, size_t len)
{
	row_put_ascii(place_for(d, row, col, len, false), text, len);
}

void display_put_cells(struct display *d, unsigned row, unsigned col,
		       const uint64_t *cells, size_t len)
{
	row_put_cells(place_for(d, row, col, len, true), cells, len);
}

void display_put(struct display *d, unsigned row, unsigned col, uint64_t cell,
		 unsigned width)
{
	row_put(place_for(d, row, col, width, cell >= 0x80), cell, width);
}

size_t display_char(const struct display *d, unsigned row, unsigned *col, uint8_t to[4])
{
	const struct row *r = grid_look(&d->grids[d->is_second], row);

	return r ? row_char(r, col, to) : 0;
}

void display_set_wrap(struct display *d, unsigned row, bool wraps)
{
	struct row *r = grid_look(grid_of(d), row);

	if (r)
		r->wraps = wraps;
}

void display_erase(struct display *d, unsigned row, unsigned bottom, unsigned col,
		   unsigned end)
{
	struct grid *s = grid_of(d);

	for (; row < bottom && row < s->count; row++) {
		struct row *r = grid_look(s, row);
		count_cells(d, end < r->used ? end - col : 0);
		row_erase(r, col, end);
	}
	if (col == 0)
		grid_trim(s); /* forgets blank rows at the end, so that the next erase
			       * need not go through them */
}

void display_shift(struct display *d, unsigned row, unsigned col, int by)
{
	const struct row *r = grid_look(grid_of(d), row);

	if (!r)
		return;
	count_cells(d, r->used);
	row_shift(place(d, row, col), by, d->cols);
}

void display_scroll(struct display *d, unsigned top, unsigned bottom, int by)
{
	d->work += grid_scroll(grid_of(d), top, bottom, by);
}

/* --- lines that scroll up ---------------------------------------------------- */

static void keep(struct display *d, const struct row *r)
{
	uint64_t at = scrollback_end(&d->back);
	bool is_whole, was_reported = d->cursors[0].first < d->cursors[0].count;
	int cells = report_cursor_pass(&d->cursors[0], r, &is_whole);

	count_cells(d, was_reported ? 4u * r->used : r->used);
	scrollback_add(&d->back, r);
	if (cells < 0)
		d->is_changed = true;
	else if (was_reported)
		d->reported_to = is_whole ? scrollback_end(&d->back)
				      : at + row_bytes(r, (unsigned)cells);
}

void display_scroll_up(struct display *d, unsigned top, unsigned bottom, int by)
{
	const struct grid *s = &d->grids[0];
	unsigned rows = by > 0 && top == 0 && !d->is_second ? (unsigned)by : 0;

	for (unsigned i = 0; i < rows && i < bottom && i < s->count; i++)
		keep(d, grid_look(s, i));
	display_scroll(d, top, bottom, by);
}

void display_put_away(struct display *d)
{
	struct grid *s = &d->grids[0];
	unsigned used = d->is_second ? 0 : grid_used(s);

	if (d->is_second)
		return;
	for (unsigned i = 0; i < s->count; i++)
		count_cells(d, i < used ? 0 : grid_look(s, i)->used);
	for (unsigned i = 0; i < used; i++)
		keep(d, grid_look(s, i));
	grid_clear(s);
}

void display_forget(struct display *d)
{
	scrollback_clear(&d->back);
	report_cursor_done(&d->cursors[0]);
	d->reported_to = scrollback_end(&d->back);
	d->is_changed = false;
}

void display_choose(struct display *d, bool is_second)
{
	if (is_second == d->is_second)
		return;
	d->is_second = is_second;
	d->work += 8u * d->grids[1].made;
	grid_done(&d->grids[1]);
	report_cursor_done(&d->cursors[1]);
}

/* --- new text -------------------------------------------------------------- */

static size_t row_text(const struct row *r, unsigned col)
{
	return row_bytes(r, r->used) - row_bytes(r, col) + !r->wraps;
}

static size_t rows_text(const struct grid *s, struct report_cursor_place from)
{
	unsigned used = grid_used(s);
	size_t len = 0;

	for (; from.row < used; from.row++, from.col = 0)
		len += row_text(grid_look(s, from.row), from.col);
	return len;
}

/* Skips the rows whose text lies completely within the first `excess` bytes, which are
 * left out of a report. Returns the place after these rows. */
static struct report_cursor_place
pass_over(const struct grid *s, struct report_cursor_place from, size_t excess)
{
	unsigned used = grid_used(s);

	for (; from.row < used; from.row++, from.col = 0) {
		size_t len = row_text(grid_look(s, from.row), from.col);
		if (len > excess)
			break;
		excess -= len;
	}
	return from;
}

static void put_rows(struct display_text *t, const struct grid *s,
		     struct report_cursor_place from)
{
	unsigned used = grid_used(s);

	for (; from.row < used; from.row++, from.col = 0) {
		const struct row *r = grid_look(s, from.row);
		t->len += row_utf8(r, from.col, r->used, t->bytes + t->len);
		if (!r->wraps)
			t->bytes[t->len++] = '\n';
	}
}

/* Returns the new text of `lines` and of the grid. Text beyond the limit is left out from
 * the begin on, without a copy of it, so a report takes no more memory than its text. */
static struct display_text text_of(const uint8_t *lines, size_t lines_len,
				   const struct grid *s, struct report_cursor_place from)
{
	size_t rows = rows_text(s, from), all = lines_len + rows;
	size_t excess = all > DISPLAY_TEXT_MAX ? all - DISPLAY_TEXT_MAX : 0;
	size_t skip = excess < lines_len ? excess : lines_len;

	from = pass_over(s, from, excess - skip);
	rows = rows_text(s, from);
	struct display_text t = {
		.bytes = mem_new(lines_len - skip + rows),
		.len = lines_len - skip,
		.lost = all - (lines_len - skip + rows),
	};
	if (t.len > 0)
		memcpy(t.bytes, lines + skip, t.len);
	put_rows(&t, s, from);
	return t;
}

static bool is_open(const struct scrollback *b)
{
	size_t len;
	const uint8_t *last = scrollback_from(b, scrollback_end(b) - 1, &len);

	return len > 0 && *last != '\n';
}

static struct display_text take_first(struct display *d)
{
	uint64_t end = scrollback_end(&d->back), place = d->reported_to;
	struct report_cursor_place from = { 0 };
	bool is_change = d->is_changed;
	size_t len;

	if (place == end) {
		from = report_cursor_place(&d->cursors[0], &d->grids[0]);
		is_change = from.is_change && from.row == 0 && is_open(&d->back);
	}
	if (is_change)
		place = scrollback_line(&d->back, place);
	const uint8_t *lines = scrollback_from(&d->back, place, &len);
	struct display_text t = text_of(lines, len, &d->grids[0], from);
	t.lost += d->back.gone > d->reported_to ? d->back.gone - d->reported_to : 0;
	d->reported_to = end;
	d->is_changed = false;
	return t;
}

/* Counts the work of a report: hashing each row's cells, and measuring, writing and
 * clipping the text. */
static void count_report(struct display *d, const struct display_text *t)
{
	const struct grid *s = grid_of(d);

	for (unsigned i = 0; i < s->count; i++)
		count_cells(d, 8u * grid_look(s, i)->used);
	d->work += t->len;
}

struct display_text display_take(struct display *d)
{
	struct display_text t =
		d->is_second ? text_of(NULL, 0, &d->grids[1],
				       report_cursor_place(&d->cursors[1], &d->grids[1]))
			     : take_first(d);

	report_cursor_note(&d->cursors[d->is_second], grid_of(d));
	count_report(d, &t);
	return t;
}
