/* screen -- a terminal's output as text, as a person at the terminal would read it.
 *
 *   screen	       bytes in, text out
 *   screen_draw       the cursor, and drawing of characters
 *   screen_control    the effects of control sequences
 *   display.h	       the store; emulator.h the library that does the rest
 *
 * Theory of operation.  Nearly all that programs print is ASCII, newlines and colours.
 * As long as a terminal is in its plain modes, these need no emulator: the screen draws
 * them itself, with a cursor of its own.  For anything else the emulator (made only
 * then) is told where the cursor is, draws, and is asked where the cursor is now.  In
 * any other mode (`modes`) the emulator draws everything.
 *
 * Bounds, whatever a program prints: DISPLAY_CELLS + SCROLLBACK_ROOM bytes, and some 40
 * KiB for rows and the emulator; screen_take() returns at most SCREEN_TEXT_MAX.  A byte
 * costs at most one scrolling of all rows, a thousand times as much as a byte of plain
 * text: display.work counts it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/display.h"
#include "executor/terminal/sequence.h"

#define SCREEN_ROWS 1000
#define SCREEN_COLS 1000

/* The most bytes that screen_take() returns; longer text loses its beginning. */
#define SCREEN_TEXT_MAX (4u << 20)

struct buffer;
struct emulator;

struct screen {
	struct display display;
	struct emulator *emulator; /* owned; NULL until an emulator is needed */
	struct sequence sequence;  /* the control sequence that has not ended yet */
	unsigned row, col;	   /* the place of the cursor */
	bool wraps_next; /* the cursor is behind the last column */
	bool is_ahead;	 /* the screen's cursor was moved, and the emulator's was not
			  * yet */
	unsigned modes;	 /* enum screen_mode; 0: plain */
	bool has_application_keys; /* DECCKM: arrow keys send application sequences */
	uint8_t carry[4]; /* the beginning of an incomplete character */
	size_t carry_len;
	uint32_t last; /* the last drawn character, which REP repeats; 0: none */
};

struct screen_text {
	uint8_t *bytes; /* the caller frees it; NULL when empty */
	size_t len;
	uint64_t cut; /* bytes left out, in front or in the middle */
	size_t lines; /* the number of lines if lines are missing in front of them;
		       * else 0 */
};

/* Initializes the screen; `cols` is at least 2. The struct must not be moved
 * afterwards. */
void screen_init(struct screen *s, unsigned rows, unsigned cols);
/* Resets the screen and frees all memory; only the counted work stays. Called at the end
 * of a screen's life, too. */
void screen_clear(struct screen *s);

void screen_feed(struct screen *s, const void *data, size_t len);
/* Reads bytes like screen_feed(), for as long as *work (units of display.h) is left,
 * from which the work is subtracted; the last character or sequence may exceed it.
 * Returns how many bytes were used, which may be none if the rest of an earlier
 * character was drawn. */
size_t screen_feed_some(struct screen *s, const void *data, size_t len, uint64_t *work);

enum screen_wish {
	SCREEN_ENDED = 1, /* no output follows: an incomplete character becomes U+FFFD */
	SCREEN_WHOLE = 2, /* the text is not clipped to TRUNCATE_TEXT_CHARS */
};

/* Returns the text that is new since the last call, stripped and clipped
 * (truncate_text.h). */
struct screen_text screen_take(struct screen *s, unsigned wishes);

/* Returns the terminal's answers to the program: the caller types and consumes them, or
 * only consumes them. NULL: there are none. */
struct buffer *screen_answers(struct screen *s);
