/* screen -- turns a terminal's output into the text that a person at the terminal would
 * read.
 *
 *   screen	       bytes in, text out
 *   screen_draw       the cursor, and drawing of characters
 *   screen_control    the effects of control sequences
 *   display.h	       the cells and the scrollback
 *   emulator.h	       the library (libvterm) that does all else
 *
 * Theory of operation.  Nearly all that programs print is ASCII, newlines and colours. As
 * long as the terminal is in its default modes, the screen draws these itself, with a
 * cursor of its own.  For anything else it makes an emulator, if there is none yet, gives
 * it the cursor's position, lets it draw, and takes the new position from it.  In all
 * other modes (`modes`) the emulator draws everything.
 *
 * Limits of memory, whatever a program prints: DISPLAY_CELLS + SCROLLBACK_ROOM bytes, and
 * some 40 KiB for rows and the emulator; screen_take() returns at most SCREEN_TEXT_MAX.
 * One byte can make all rows scroll, which costs a thousand times as much as a byte of
 * plain text.  display.work counts that cost. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/terminal/display.h"
#include "executor/terminal/sequence.h"

#define SCREEN_ROWS 1000
#define SCREEN_COLS 1000

/* The most bytes that screen_take() returns; of a longer text the beginning is
 * dropped. */
#define SCREEN_TEXT_MAX (4u << 20)

struct buffer;
struct emulator;

struct screen {
	struct display display;
	struct emulator *emulator; /* owned; NULL until an emulator is needed */
	struct sequence sequence;  /* the control sequence that is being read */
	unsigned row, col;	   /* the position of the cursor */
	bool wraps_next; /* the last column was just written, so the next character
			  * wraps */
	bool is_ahead;	 /* the cursor has moved since the emulator was last told its
			  * position */
	unsigned modes;	 /* enum screen_mode; 0: plain */
	bool has_application_keys; /* DECCKM: arrow keys send application sequences */
	uint8_t carry[4]; /* the first bytes of an incomplete character */
	size_t carry_len;
	uint32_t last; /* the character that was drawn last, which REP repeats; 0: none */
};

struct screen_text {
	uint8_t *bytes; /* the caller frees it; NULL when empty */
	size_t len;
	uint64_t cut; /* how many bytes of new text were left out, at the beginning or in
		       * the middle */
	size_t lines; /* if lines are missing at the beginning: how many lines are left;
		       * else 0 */
};

/* Initializes the screen; `cols` is at least 2. The struct must not be moved
 * afterwards. */
void screen_init(struct screen *s, unsigned rows, unsigned cols);
/* Resets the screen and frees all its memory, except that display.work keeps its value.
 * Called also at the end of a screen's life. */
void screen_clear(struct screen *s);

void screen_feed(struct screen *s, const void *data, size_t len);
/* Draws bytes like screen_feed(), but only until *work (in units of display.h) is used
 * up, and subtracts the work from it. The last character or sequence may exceed *work.
 * Returns how many bytes were used. This may be 0 if only an earlier, incomplete
 * character was drawn. */
size_t screen_feed_some(struct screen *s, const void *data, size_t len, uint64_t *work);

enum screen_wish {
	SCREEN_ENDED = 1, /* no output follows: an incomplete character becomes U+FFFD */
	SCREEN_WHOLE = 2, /* the text is not clipped to TRUNCATE_TEXT_CHARS */
};

/* Returns the text that is new since the last call, without blanks at the ends, and
 * shortened (truncate_text.h). */
struct screen_text screen_take(struct screen *s, unsigned wishes);

/* Returns the terminal's answers to the program's queries; NULL: there are none. The
 * caller types them as input, or drops them, and consumes them in either case. */
struct buffer *screen_answers(struct screen *s);
