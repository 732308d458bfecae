/* report_cursor -- remembers which text of a grid was reported, so that the next report knows
 * what is new.
 *
 * Each row is known by a hash: eight bytes for a thousand characters.  In the last row
 * only the reported cells count: text printed behind them is new, and no change.  A
 * program that makes rows of equal hashes on purpose only hides its own text. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct row;
struct grid;

/* A zeroed struct means that nothing was reported. */
struct report_cursor {
	uint64_t *marks; /* owned */
	unsigned first, count; /* the rows before `first` have scrolled out of the grid */
	unsigned cells; /* how many cells of the last row were reported */
};

/* The place on a grid from which text is new. */
struct report_cursor_place {
	unsigned row, col;
	bool is_change; /* text at this place was reported before, and has changed or
			 * gone */
};

void report_cursor_done(struct report_cursor *t);
/* Notes that all of this grid is reported. */
void report_cursor_note(struct report_cursor *t, const struct grid *s);

/* Notes that the top row leaves the grid. Returns how many of its cells were reported and
 * are unchanged, and sets *ret_whole if the whole row was reported. Returns -1 if the row
 * has changed: all text from this row on is new then. */
int report_cursor_pass(struct report_cursor *t, const struct row *r, bool *ret_whole);

struct report_cursor_place report_cursor_place(const struct report_cursor *t,
					       const struct grid *s);
