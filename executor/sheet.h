/* sheet -- the rows of a terminal, one below the other.
 *
 * Rows that nobody wrote to and that are below all others take nothing.  Scrolling
 * the whole sheet turns it round; scrolling a part moves its rows, not their
 * characters. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "executor/row.h"

struct sheet {
	struct row *rows; /* owned: a ring once there are `height` */
	unsigned height, count, room;
	unsigned made;	/* rows that exist; those from `count` on are blank */
	unsigned first; /* where the ring begins */
	size_t *budget; /* borrowed; for all characters */
};

void sheet_done(struct sheet *s);

/* Row number `i` < height; made if need be. */
struct row *sheet_row(struct sheet *s, unsigned i);
/* The same, or NULL where there is none. */
struct row *sheet_look(const struct sheet *s, unsigned i);
/* How many rows there are up to the last that is not blank. */
unsigned sheet_used(const struct sheet *s);
/* Takes the rows from the count that end it and have no cells. */
void sheet_trim(struct sheet *s);
/* All rows are blank, and keep their memory. */
void sheet_clear(struct sheet *s);

/* Moves the rows from `top` to before `bottom` up by so many, or down where `by` is
 * negative; what leaves this part is lost, what comes in is blank.  Returns how many rows
 * it touched. */
unsigned sheet_scroll(struct sheet *s, unsigned top, unsigned bottom, int by);
