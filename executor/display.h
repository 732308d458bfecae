/* display -- what is on a terminal, and what was.
 *
 * Two sheets, of which the second is the one that full-screen programs draw on
 * (the alternate screen), and the lines that went up out of the first.  What
 * there is of it costs what its text costs: nothing while it is empty, at most
 * DISPLAY_CELLS for the sheets and SCROLLBACK_ROOM for the lines.
 *
 * What display_take() gives is what a person would read who had seen all up to the
 * last time: from there on, or from the first line that is not as it was. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/scrollback.h"
#include "executor/sheet.h"
#include "executor/told.h"

/* 1000 columns by 1000 rows of characters that are not ASCII. */
#define DISPLAY_CELLS (8u << 20)

/* What is read at once: a row's text more at most, and the beginning may be a part of a
 * character, which the caller has to take away. */
#define DISPLAY_TEXT_MAX ((4u << 20) + 64)

/* Drawing is counted as work, so that a turn of a loop can end in the middle of it.  A unit is
 * a row that is looked at or moved, or so many cells, which takes some nanoseconds. */
#define DISPLAY_UNIT_CELLS 8

struct display {
	unsigned rows, cols;
	size_t budget; /* bytes that rows may still take */
	uint64_t work; /* units so far, since it was made */
	struct sheet sheets[2]; /* owned */
	struct told told[2];	/* owned; of each */
	bool is_second;
	struct scrollback back;
	uint64_t told_to; /* the place in `back` up to which all was reported */
	bool is_changed;  /* and there stood something else */
};

/* Text as it stands there, lines joined that the margin had parted. */
struct display_text {
	uint8_t *bytes; /* the caller frees it */
	size_t len;
	uint64_t lost; /* bytes in front of it that were not kept, or are too much */
};

/* Not to be moved afterwards. */
void display_init(struct display *d, unsigned rows, unsigned cols);
/* Empty again, and all memory given back; its work is counted on. */
void display_clear(struct display *d);

void display_put_ascii(struct display *d, unsigned row, unsigned col,
		       const uint8_t *text, size_t len);
void display_put_cells(struct display *d, unsigned row, unsigned col,
		       const uint64_t *cells, size_t len);
void display_put(struct display *d, unsigned row, unsigned col, uint64_t cell,
		 unsigned width);
/* As row_char(). */
size_t display_char(const struct display *d, unsigned row, unsigned *col, uint8_t to[4]);
/* Whether the line goes on in the next row. */
void display_set_wrap(struct display *d, unsigned row, bool wraps);

/* The cells of these rows from `col` to before `end`. */
void display_erase(struct display *d, unsigned row, unsigned bottom, unsigned col,
		   unsigned end);
/* As row_shift() and sheet_scroll(). */
void display_shift(struct display *d, unsigned row, unsigned col, int by);
void display_scroll(struct display *d, unsigned top, unsigned bottom, int by);
/* The same; what goes up out of the first sheet is kept. */
void display_scroll_up(struct display *d, unsigned top, unsigned bottom, int by);

/* What is on the first sheet goes up, as it does when it is cleared. */
void display_put_away(struct display *d);
/* Forgets what went up. */
void display_forget(struct display *d);
void display_choose(struct display *d, bool is_second);

/* What is new, which then is not any more. */
struct display_text display_take(struct display *d);
