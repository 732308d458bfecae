/* grid -- the rows of a terminal, one below the other.
 *
 * Rows that were never written to and that are below all others take no memory.
 * Scrolling the whole grid turns a ring; scrolling a part moves its rows, not their
 * characters. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/row.h"

struct grid {
	struct row *rows; /* owned; a ring once there are `height` rows */
	unsigned height, count, room;
	unsigned made;	/* rows that exist; those from `count` on are blank */
	unsigned first; /* the index of row 0 in the ring */
	size_t *budget; /* borrowed; bytes that the characters of all rows may still
			 * take */
};

void grid_done(struct grid *s);

/* Returns row number `i`, which is below `height`; makes the row if it does not exist. */
struct row *grid_row(struct grid *s, unsigned i);
/* Returns row number `i`, or NULL if the row does not exist. */
struct row *grid_look(const struct grid *s, unsigned i);
/* Returns the number of rows up to the last that is not blank. */
unsigned grid_used(const struct grid *s);
/* Reduces `count` by the rows at its end that have no cells. */
void grid_trim(struct grid *s);
/* Makes all rows blank; they keep their memory. */
void grid_clear(struct grid *s);

/* Moves the rows from `top` to before `bottom` up by `by`, or down if `by` is negative;
 * rows that leave this part are lost, new ones are blank. Returns how many rows were
 * touched, which the caller counts as work. */
unsigned grid_scroll(struct grid *s, unsigned top, unsigned bottom, int by);
