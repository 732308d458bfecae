/* sheet -- the rows of a terminal, one below the other.
 *
 * Rows that were never written to and that are below all others take no memory.
 * Scrolling the whole sheet turns a ring; scrolling a part moves its rows, not their
 * characters. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/row.h"

struct sheet {
	struct row *rows; /* owned: a ring once there are `height` */
	unsigned height, count, room;
	unsigned made;	/* rows that exist; those from `count` on are blank */
	unsigned first; /* the index of row 0 in the ring */
	size_t *budget; /* borrowed; bytes for all characters */
};

void sheet_done(struct sheet *s);

/* Row number `i`, which is below `height`; made if need be. */
struct row *sheet_row(struct sheet *s, unsigned i);
/* The same, or NULL if the row does not exist. */
struct row *sheet_look(const struct sheet *s, unsigned i);
/* The number of rows up to the last that is not blank. */
unsigned sheet_used(const struct sheet *s);
/* Reduces `count` by the rows at its end that have no cells. */
void sheet_trim(struct sheet *s);
/* Makes all rows blank; they keep their memory. */
void sheet_clear(struct sheet *s);

/* Moves the rows from `top` to before `bottom` up by `by`, or down if it is negative;
 * rows that leave this part are lost, new ones are blank.  Returns how many rows it
 * touched. */
unsigned sheet_scroll(struct sheet *s, unsigned top, unsigned bottom, int by);
