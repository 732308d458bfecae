/* told -- what was reported of a sheet, so that the next report knows what is new.
 *
 * Each row is known by a hash, eight bytes for a thousand characters.  Of the last one
 * only what was there counts: what is printed behind it is new, and no change.
 * Who makes rows that have equal hashes on purpose keeps text from itself. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct row;
struct sheet;

/* A zeroed struct has heard nothing. */
struct told {
	uint64_t *marks; /* owned */
	unsigned first, count; /* the rows before `first` left upwards */
	unsigned cells; /* of the last */
};

/* Where on a sheet the new begins. */
struct told_place {
	unsigned row, col;
	bool is_change; /* what was reported there is not there any more */
};

void told_done(struct told *t);
/* All of this sheet is reported. */
void told_note(struct told *t, const struct sheet *s);

/* The top row leaves the sheet: how many cells of it were reported and are as they
 * were.  *ret_whole: nothing of it is new.  -1: they are not as they were, and from
 * here on all is new. */
int told_pass(struct told *t, const struct row *r, bool *ret_whole);

struct told_place told_place(const struct told *t, const struct sheet *s);
