/* report_cursor -- remembers which text of a grid was reported, so that the next report
 * contains only new text.
 *
 * A reported row is remembered by a hash of eight bytes.  In the last row only the
 * reported cells are hashed: text that is later printed after them is new text, not a
 * change.  A program that makes two rows of equal hash on purpose only hides its own
 * text. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct row;
struct grid;

/* A zeroed struct means that nothing was reported. */
struct report_cursor {
	uint64_t *marks; /* owned */
	unsigned first, count; /* `count` hashes; those before `first` are of rows that
			        * have scrolled out of the grid */
	unsigned cells; /* how many cells of the last row were reported */
};

/* The place on a grid from which text is new. */
struct report_cursor_place {
	unsigned row, col;
	bool is_change; /* text at this place was reported before, and has changed or is
			 * gone */
};

void report_cursor_done(struct report_cursor *t);
/* Records that all text of this grid was reported. */
void report_cursor_note(struct report_cursor *t, const struct grid *s);

/* Called when the top row leaves the grid. Returns how many of its cells were reported
 * and are unchanged, and sets *ret_whole if the whole row was reported. Returns -1 if the
 * row has changed, so that all text from this row on is new. */
int report_cursor_pass(struct report_cursor *t, const struct row *r, bool *ret_whole);

struct report_cursor_place report_cursor_place(const struct report_cursor *t,
					       const struct grid *s);
