/* emulator -- libvterm's parser and state layer, drawing on a display.
 *
 * It is given whole characters and whole control sequences (sequence.h) and nothing
 * else, since the library takes any number of parameters into an array of 16,
 * repeats by a width of nothing for ever, and keeps every combining character that
 * follows another.  What it does not bound, or what a width below zero leads to,
 * must not reach it:
 *
 *  - a control sequence has at most 16 parameters, each at most 9999;
 *  - no REP, no DECALN, no double-width lines, no left and right margins, no strings;
 *  - no C1 control characters, not even as UTF-8.
 *
 * The library is named in emulator.c only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Answers to a program's questions; what does not fit is not said. */
#define EMULATOR_ANSWERS 256

struct display;
struct emulator;

struct emulator *emulator_new(struct display *d /* borrowed */);
void emulator_free(struct emulator *m);

enum emulator_effect {
	EMULATOR_KEEPS = 1, /* what it scrolls up out of the display is kept */
	EMULATOR_MOVES = 2  /* a character that was to wrap does not */
};

/* A control sequence or a control character. */
void emulator_control(struct emulator *m, const char *bytes, size_t len,
		      unsigned effects);
/* Characters: whole, and at most EMULATOR_TEXT bytes. */
#define EMULATOR_TEXT 256
void emulator_text(struct emulator *m, const char *bytes, size_t len);

void emulator_cursor(const struct emulator *m, unsigned *ret_row, unsigned *ret_col);
/* The last character went up to the right margin: the next one wraps. */
bool emulator_is_at_margin(const struct emulator *m);

/* What it has to say; whoever says it consumes it. */
struct buffer *emulator_answers(struct emulator *m);
