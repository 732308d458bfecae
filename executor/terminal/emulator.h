/* emulator -- libvterm's parser and state layer, drawing on a display.
 *
 * Only whole characters and whole, checked control sequences (sequence.h) are given to
 * libvterm, since it has faults with other input: it writes any number of parameters into
 * an array of 16, repeats a character of width 0 for ever, and keeps any number of
 * combining characters.  These bounds hold for all its input:
 *
 * - a control sequence has at most 16 parameters, each at most 9999; - no REP, no DECALN,
 * no double-width lines, no left and right margins, no strings; - no C1 control
 * characters, not even as UTF-8.
 *
 * Only emulator.c includes libvterm's header. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* The most bytes of the terminal's answers to a program's queries that may wait; further
 * answers are dropped. */
#define EMULATOR_ANSWERS 256

struct display;
struct emulator;

struct emulator *emulator_new(struct display *d /* `d` is borrowed */);
void emulator_free(struct emulator *m);

enum emulator_effect {
	EMULATOR_KEEPS = 1, /* rows that leave the display at its top go to the
			     * scrollback */
	EMULATOR_MOVES = 2  /* the control moves the cursor, so a character at the right
			     * margin no longer makes the next one wrap */
};

/* Executes a control sequence or a control character. */
void emulator_control(struct emulator *m, const char *bytes, size_t len,
		      unsigned effects);
/* Draws whole characters, at most EMULATOR_TEXT bytes. */
#define EMULATOR_TEXT 256
void emulator_text(struct emulator *m, const char *bytes, size_t len);

void emulator_cursor(const struct emulator *m, unsigned *ret_row, unsigned *ret_col);
/* Returns true if the last character was drawn in the last column, so that the next one
 * wraps. */
bool emulator_is_at_margin(const struct emulator *m);

/* Returns the answers to the program's queries; the caller consumes them. */
struct buffer *emulator_answers(struct emulator *m);
