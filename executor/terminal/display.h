/* display -- the content of a terminal, and the lines that scrolled out of it.
 *
 * There are two grids, the normal screen and the alternate one on which full-screen
 * programs draw, and a scrollback with the lines that have left the first grid at its
 * top.  Memory is allocated as there is text: nothing while the display is empty, at most
 * DISPLAY_CELLS for the grids and SCROLLBACK_ROOM for the lines.
 *
 * display_take() returns the text that is new since its last call: from the place where
 * that call's text ended, or from the first line before it that has changed since. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/grid.h"
#include "executor/terminal/report_cursor.h"
#include "executor/terminal/scrollback.h"

/* The most bytes of cells in both grids together: enough for 1000 columns by 1000 rows of
 * characters that are not ASCII. */
#define DISPLAY_CELLS (8u << 20)

/* The limit of one report's text. A report may exceed it by a row, and its first bytes
 * may be the rest of a character, which the caller removes. */
#define DISPLAY_TEXT_MAX ((4u << 20) + 64)

/* Drawing is counted as work, so that a turn of the executor's loop can be ended after a
 * limited amount of it. A unit of work is one row that is read or moved, or this many
 * cells that are written, and takes some nanoseconds. */
#define DISPLAY_UNIT_CELLS 8

struct display {
	unsigned rows, cols;
	size_t budget; /* how many more bytes the rows of both grids may allocate */
	uint64_t work; /* how many units of work were done since the display was made */
	struct grid grids[2]; /* owned */
	struct report_cursor cursors[2];	/* owned; one for each grid */
	bool is_second;
	struct scrollback back;
	uint64_t reported_to; /* the place in `back` (scrollback.h) up to which all text
			       * was reported */
	bool is_changed;  /* text was reported, has changed since, and is now in `back` */
};

/* Text of the display. A line that was divided at the right margin is one line in it. */
struct display_text {
	uint8_t *bytes; /* the caller frees it */
	size_t len;
	uint64_t lost; /* how many bytes of new text are missing before `bytes`, since
		        * they were dropped from the scrollback or are beyond the limit */
};

/* Initializes the display. The struct must not be moved afterwards, since its parts have
 * pointers into it. */
void display_init(struct display *d, unsigned rows, unsigned cols);
/* Empties the display and frees all its memory; `work` keeps its value. */
void display_clear(struct display *d);

void display_put_ascii(struct display *d, unsigned row, unsigned col,
		       const uint8_t *text, size_t len);
void display_put_cells(struct display *d, unsigned row, unsigned col,
		       const uint64_t *cells, size_t len);
void display_put(struct display *d, unsigned row, unsigned col, uint64_t cell,
		 unsigned width);
/* Returns the character in a cell, like row_char() in row.h. */
size_t display_char(const struct display *d, unsigned row, unsigned *col, uint8_t to[4]);
/* Sets whether the line in this row continues in the next row. */
void display_set_wrap(struct display *d, unsigned row, bool wraps);

/* Erases the cells of these rows from `col` to before `end`. */
void display_erase(struct display *d, unsigned row, unsigned bottom, unsigned col,
		   unsigned end);
/* Moves cells within a row, and rows within the display, like row_shift() and
 * grid_scroll(). */
void display_shift(struct display *d, unsigned row, unsigned col, int by);
void display_scroll(struct display *d, unsigned top, unsigned bottom, int by);
/* Scrolls like display_scroll(), but rows that leave the first grid at its top are added
 * to `back`. */
void display_scroll_up(struct display *d, unsigned top, unsigned bottom, int by);

/* Moves the content of the first grid to `back`; called when a program clears the
 * screen. */
void display_put_away(struct display *d);
/* Empties the scrollback `back`. */
void display_forget(struct display *d);
void display_choose(struct display *d, bool is_second);

/* Returns the text that is new since the last call; the text then counts as reported. */
struct display_text display_take(struct display *d);
