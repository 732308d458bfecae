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

#define ROW_CELL_BYTES 12 /* the most bytes of UTF-8 in one cell */

/* Stands in the cell of the right half of a double-width character. */
#define ROW_TAIL UINT64_MAX

/* A zeroed struct is an empty row. */
struct row {
	void *cells;   /* owned: uint8_t, or uint64_t if is_broad */
	uint16_t used; /* how many cells exist */
	uint16_t room; /* bytes that `cells` has room for */
	bool is_broad;
	bool wraps; /* the line in this row continues in the next row */
};

/* A cell of a row. The row may grow by *budget bytes, from which it subtracts. */
struct row_place {
	struct row *row;
	size_t *budget;
	unsigned col;
};

/* Makes a cell of a character and the combining characters behind it; `count` is above
 * 0. */
uint64_t row_cell(const uint32_t *chars, size_t count);
/* Writes the character in this cell, if no other combines with it, as UTF-8 to `to`.
 * *col becomes the character's first cell. Returns the length; 0: there is no such
 * character. */
size_t row_char(const struct row *r, unsigned *col, uint8_t to[4]);

void row_put_ascii(struct row_place at, const uint8_t *text, size_t len);
/* Writes `len` > 0 cells unchanged; a character of double width takes two: its own cell,
 * and ROW_TAIL. */
void row_put_cells(struct row_place at, const uint64_t *cells, size_t len);
/* Writes one character; `width` is 1 or 2 cells. */
void row_put(struct row_place at, uint64_t cell, unsigned width);

/* Blanks the cells from `col` to before `end`. */
void row_erase(struct row *r, unsigned col, unsigned end);
/* Moves the cells from `col` on. With `by` above 0 blanks are inserted, and cells moved
 * to `width` or beyond are lost; with `by` below 0 cells are deleted. */
void row_shift(struct row_place at, int by, unsigned width);

/* Makes the row empty; it keeps its memory. */
void row_clear(struct row *r);
/* Frees the row's memory, and gives the bytes back to *budget. */
void row_done(struct row *r, size_t *budget);

/* Returns the number of cells up to the last that is not blank. */
unsigned row_length(const struct row *r);
/* Writes the cells from `from` to before `end` as UTF-8; `to` has room for ROW_CELL_BYTES
 * for each cell. Returns how many bytes were written. */
size_t row_utf8(const struct row *r, unsigned from, unsigned end, uint8_t *to);
/* Returns how many bytes the cells before `end` take as UTF-8. */
size_t row_bytes(const struct row *r, unsigned end);
/* Returns a hash of the cells before `end`. */
uint64_t row_hash(const struct row *r, unsigned end);
