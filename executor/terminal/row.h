/* row -- one row of a terminal: characters in cells.
 *
 * A row of ASCII takes a byte a cell, any other row eight; the part behind its last
 * character takes no memory.  A cell holds a character and up to two combining ones;
 * more are left out.  A character of double width takes two cells, and overwriting one
 * of them blanks the other.
 *
 * Rows share a budget.  Text beyond the budget is dropped without a report: only a
 * program that intends it gets that far. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_CELL_BYTES 12 /* of UTF-8, at most */

/* The right half of a double-width character. */
#define ROW_TAIL UINT64_MAX

/* A zeroed struct is an empty row. */
struct row {
	void *cells;   /* owned: uint8_t, or uint64_t if is_broad */
	uint16_t used; /* cells */
	uint16_t room; /* bytes */
	bool is_broad;
	bool wraps; /* its line continues in the next row */
};

/* A cell of a row, which may grow by the bytes left in *budget. */
struct row_place {
	struct row *row;
	size_t *budget;
	unsigned col;
};

/* The cell of `count` > 0 characters. */
uint64_t row_cell(const uint32_t *chars, size_t count);
/* The character in this cell, if no other combines with it: *col becomes its first
 * cell; returns its length in UTF-8; 0: none. */
size_t row_char(const struct row *r, unsigned *col, uint8_t to[4]);

void row_put_ascii(struct row_place at, const uint8_t *text, size_t len);
/* Writes cells as they are; a character of double width is its cell and ROW_TAIL.
 * `len` > 0. */
void row_put_cells(struct row_place at, const uint64_t *cells, size_t len);
/* `width` is 1 or 2. */
void row_put(struct row_place at, uint64_t cell, unsigned width);

/* Blanks the cells from `col` to before `end`. */
void row_erase(struct row *r, unsigned col, unsigned end);
/* Moves the cells from `col` on: by > 0 inserts blanks, and cells moved to `width` or
 * beyond are lost; by < 0 deletes cells. */
void row_shift(struct row_place at, int by, unsigned width);

/* Makes the row empty; it keeps its memory. */
void row_clear(struct row *r);
/* Frees its memory, and gives the bytes back to *budget. */
void row_done(struct row *r, size_t *budget);

/* The number of cells up to the last that is not blank. */
unsigned row_length(const struct row *r);
/* Writes the cells from `from` to before `end` as UTF-8; `to` has room for
 * ROW_CELL_BYTES each.  Returns how many bytes these are. */
size_t row_utf8(const struct row *r, unsigned from, unsigned end, uint8_t *to);
/* How many bytes of UTF-8 the cells before `end` are. */
size_t row_bytes(const struct row *r, unsigned end);
/* A hash of the cells before `end`. */
uint64_t row_hash(const struct row *r, unsigned end);
