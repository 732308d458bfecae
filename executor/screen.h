/* screen -- a terminal that somebody reads: what was printed, as a person sees it.
 *
 *   screen	       bytes in, text out
 *   screen_draw       the cursor, and characters where it stands
 *   screen_control    what control sequences do
 *   display.h	       the store; emulator.h the library that does the rest
 *
 * Theory of operation.  Nearly all that programs print is ASCII, newlines and
 * colours.  As long as a terminal is in its plain modes, these need no emulator: they
 * are drawn here, with a cursor of our own.  Where anything else comes, the emulator
 * (made only then) is told where the cursor is, does it, and is asked where the
 * cursor is now.  In any other mode (`modes`) it does all.
 *
 * Bounds, whatever a program prints: DISPLAY_CELLS + SCROLLBACK_ROOM bytes, and some
 * 40 KiB for rows and the emulator; what screen_take() returns is at most
 * SCREEN_TEXT_MAX.  A byte costs at most one scrolling of all rows, a thousand times as much as
 * one of plain text: what it did is counted in display.work. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/display.h"
#include "executor/sequence.h"

#define SCREEN_ROWS 1000
#define SCREEN_COLS 1000

/* What is longer loses its beginning. */
#define SCREEN_TEXT_MAX (4u << 20)

struct buffer;
struct emulator;

struct screen {
	struct display display;
	struct emulator *emulator; /* owned; NULL until it is needed */
	struct sequence sequence;  /* that has not ended yet */
	unsigned row, col;	   /* the cursor */
	bool wraps_next; /* it is behind the last column */
	bool is_ahead;	 /* of the emulator's */
	unsigned modes;	 /* enum screen_mode; 0: plain */
	bool has_application_keys; /* DECCKM */
	uint8_t carry[4]; /* of a character that is not whole */
	size_t carry_len;
	uint32_t last; /* the last character, for repeating; 0: none */
};

struct screen_text {
	uint8_t *bytes; /* the caller frees it; NULL when empty */
	size_t len;
	uint64_t cut; /* bytes left out, in front or in the middle */
	size_t lines; /* not 0: lines are missing in front of these */
};

/* 2 columns at least.  Not to be moved afterwards. */
void screen_init(struct screen *s, unsigned rows, unsigned cols);
/* As at the beginning, but for the work that was counted, and all memory given back; also
 * the end of it. */
void screen_clear(struct screen *s);

void screen_feed(struct screen *s, const void *data, size_t len);
/* The same for as long as there is work left (display.h), which it takes from *work: one
 * character or sequence more at most.  Returns how many bytes it took: none, too, where the end
 * of a character that came before was drawn. */
size_t screen_feed_some(struct screen *s, const void *data, size_t len, uint64_t *work);

enum screen_wish {
	SCREEN_ENDED = 1, /* nothing follows: half a character is U+FFFD */
	SCREEN_WHOLE = 2, /* not clipped to EXCERPT_CHARS */
};

/* What is new since the last time, stripped and clipped (excerpt.h). */
struct screen_text screen_take(struct screen *s, unsigned wishes);

/* What the terminal answers to the program: the caller types and consumes it, or
 * only consumes it.  NULL: nothing. */
struct buffer *screen_answers(struct screen *s);
