/* emulator -- libvterm's parser and state layer, drawing on a display.
 *
 * It is given whole characters and whole control sequences (sequence.h) and nothing
 * else, since the library writes any number of parameters into an array of 16, repeats
 * a character of width 0 for ever, and keeps every combining character that follows
 * another.  Therefore the following bounds hold for all input of the library:
 *
 *  - a control sequence has at most 16 parameters, each at most 9999;
 *  - no REP, no DECALN, no double-width lines, no left and right margins, no strings;
 *  - no C1 control characters, not even as UTF-8.
 *
 * Only emulator.c names the library. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Bytes of waiting answers to a program's questions; answers beyond the limit are
 * dropped. */
#define EMULATOR_ANSWERS 256

struct display;
struct emulator;

struct emulator *emulator_new(struct display *d /* `d` is borrowed */);
void emulator_free(struct emulator *m);

enum emulator_effect {
	EMULATOR_KEEPS = 1, /* rows that scroll up out of the display are kept */
	EMULATOR_MOVES = 2  /* a pending wrap at the right margin is cancelled */
};

/* Feeds a control sequence or a control character. */
void emulator_control(struct emulator *m, const char *bytes, size_t len,
		      unsigned effects);
/* Feeds whole characters, at most EMULATOR_TEXT bytes. */
#define EMULATOR_TEXT 256
void emulator_text(struct emulator *m, const char *bytes, size_t len);

void emulator_cursor(const struct emulator *m, unsigned *ret_row, unsigned *ret_col);
/* Returns whether the last character reached the right margin, so that the next one
 * wraps. */
bool emulator_is_at_margin(const struct emulator *m);

/* Returns the answers to the program; the caller consumes them. */
struct buffer *emulator_answers(struct emulator *m);
