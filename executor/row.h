/* row -- one row of a terminal: characters in cells.
 *
 * A row of ASCII takes a byte a cell, any other eight; what is behind its last
 * character takes nothing.  A cell holds a character and up to two combining ones;
 * more are left out.  A character of double width takes two cells, and what
 * overwrites one of them blanks the other.
 *
 * Rows share a budget.  What would not fit is not kept, and nobody is told: only
 * a program that wants it gets that far. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_CELL_BYTES 12 /* of UTF-8, at most */

/* The right half of a double-width character. */
#define ROW_TAIL UINT64_MAX

/* A zeroed struct is an empty row. */
struct row {
	void *cells;   /* owned: uint8_t, or uint64_t where is_broad */
	uint16_t used; /* cells */
	uint16_t room; /* bytes */
	bool is_broad;
	bool wraps; /* its line goes on in the next row */
};

/* One that may grow by what is left in *budget. */
struct row_place {
	struct row *row;
	size_t *budget;
	unsigned col;
};

/* The cell of `count` > 0 characters. */
uint64_t row_cell(const uint32_t *chars, size_t count);
/* The character that the cell is a part of, if nothing combines with it: where it
 * begins, and how many bytes of UTF-8 it is; 0: none. */
size_t row_char(const struct row *r, unsigned *col, uint8_t to[4]);

void row_put_ascii(struct row_place at, const uint8_t *text, size_t len);
/* Cells as they are, a character of double width as it and ROW_TAIL; `len` > 0. */
void row_put_cells(struct row_place at, const uint64_t *cells, size_t len);
/* `width` 1 or 2. */
void row_put(struct row_place at, uint64_t cell, unsigned width);

/* Blanks the cells from `col` to before `end`. */
void row_erase(struct row *r, unsigned col, unsigned end);
/* Moves what is at and behind `col`: by > 0 inserts blanks, where what comes to
 * `width` is lost, by < 0 deletes. */
void row_shift(struct row_place at, int by, unsigned width);

/* Empty, as before the first character; keeps its memory. */
void row_clear(struct row *r);
/* Gives its memory back, to *budget. */
void row_done(struct row *r, size_t *budget);

/* Its cells up to the last that is not blank. */
unsigned row_length(const struct row *r);
/* Cells from `from` to before `end` as UTF-8; `to` has room for ROW_CELL_BYTES
 * each.  Returns how many bytes these are. */
size_t row_utf8(const struct row *r, unsigned from, unsigned end, uint8_t *to);
/* How many bytes the cells before `end` are. */
size_t row_bytes(const struct row *r, unsigned end);
/* What the cells before `end` are known by. */
uint64_t row_hash(const struct row *r, unsigned end);
