/* row -- one row of a terminal: characters in cells.
 *
 * A row of ASCII takes one byte for each cell, any other row (a broad one) eight. The
 * cells after its last character take no memory.  A cell holds a character and up to two
 * combining ones; further ones are dropped.  A character of double width takes two cells,
 * and overwriting one of them blanks the other.
 *
 * All rows share a memory budget (`budget`).  Text that exceeds it is dropped silently: a
 * program gets that far only on purpose. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_CELL_BYTES 12 /* the most bytes of UTF-8 in one cell */

/* The value of the cell of a double-width character's right half. */
#define ROW_TAIL UINT64_MAX

/* A zeroed struct is an empty row. */
struct row {
	void *cells;   /* owned: uint8_t, or uint64_t if is_broad */
	uint16_t used; /* how many cells exist */
	uint16_t room; /* bytes that `cells` has room for */
	bool is_broad;
	bool wraps; /* the line in this row continues in the next row */
};

/* A place in a row. The row may allocate up to *budget more bytes, which are subtracted
 * from *budget. */
struct row_place {
	struct row *row;
	size_t *budget;
	unsigned col;
};

/* Returns the cell of a character and the combining characters after it; `count`, the
 * number of all of them, is above 0. */
uint64_t row_cell(const uint32_t *chars, size_t count);
/* Writes the character in cell *col as UTF-8 to `to`, and sets *col to the character's
 * first cell. Returns its length; 0: the cell has no character, or one with combining
 * characters. */
size_t row_char(const struct row *r, unsigned *col, uint8_t to[4]);

void row_put_ascii(struct row_place at, const uint8_t *text, size_t len);
/* Writes `len` > 0 ready cells; a double-width character has two of them: its own, and
 * ROW_TAIL. */
void row_put_cells(struct row_place at, const uint64_t *cells, size_t len);
/* Writes one character; `width` is 1 or 2 cells. */
void row_put(struct row_place at, uint64_t cell, unsigned width);

/* Blanks the cells from `col` to before `end`. */
void row_erase(struct row *r, unsigned col, unsigned end);
/* Moves the cells from `col` on to the right or left. With `by` above 0 blanks are
 * inserted, and cells that get to `width` or beyond are lost; with `by` below 0 cells are
 * deleted. */
void row_shift(struct row_place at, int by, unsigned width);

/* Makes the row empty, but keeps its memory for reuse. */
void row_clear(struct row *r);
/* Frees the row's memory, and adds its size to *budget. */
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
