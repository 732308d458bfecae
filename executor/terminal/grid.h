/* grid -- the rows of a terminal, one below the other.
 *
 * Rows below the last one that was ever written to take no memory. The rows are a ring
 * buffer, so scrolling the whole grid only moves the ring's begin; scrolling a part of it
 * moves the row structs, not their characters. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/row.h"

struct grid {
	struct row *rows; /* owned; a ring buffer once there are `height` rows */
	unsigned height, count, room;
	unsigned made;	/* number of allocated rows; those from `count` on are blank */
	unsigned first; /* the index of row 0 in the ring */
	size_t *budget; /* borrowed; how many more bytes all rows may allocate for their
			 * cells */
};

void grid_done(struct grid *s);

/* Returns row `i`, which is below `height`; allocates the row if necessary. */
struct row *grid_row(struct grid *s, unsigned i);
/* Returns row `i`; NULL: it is not allocated. */
struct row *grid_look(const struct grid *s, unsigned i);
/* Returns the number of rows up to the last that is not blank. */
unsigned grid_used(const struct grid *s);
/* Lowers `count` so that the last row has cells. */
void grid_trim(struct grid *s);
/* Makes all rows blank; they keep their memory. */
void grid_clear(struct grid *s);

/* Moves the rows from `top` to before `bottom` up by `by`, or down if `by` is negative;
 * the rows that leave this range are lost, and those that enter it are blank. Returns how
 * many rows were touched, which the caller counts as work. */
unsigned grid_scroll(struct grid *s, unsigned top, unsigned bottom, int by);
