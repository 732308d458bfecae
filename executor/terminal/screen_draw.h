/* screen_draw -- draws characters at the cursor: the usual ones itself, the others by the
 * emulator. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screen;

/* The modes in which the emulator must draw everything (screen.modes). */
enum screen_mode {
	SCREEN_INSERTS = 1,
	SCREEN_NEWLINES = 2, /* a line feed (LF) is also a carriage return */
	SCREEN_ORIGIN = 4,   /* cursor positions are counted from the top margin
			      * (DECOM) */
	SCREEN_NO_WRAP = 8,
	SCREEN_MARGINS = 16,
	SCREEN_CHARSET = 32,
	SCREEN_SHIFTED = 64,
	SCREEN_TABS = 128
};

/* Draws printable ASCII at the cursor. */
void screen_put_ascii(struct screen *s, const uint8_t *text, size_t len);
/* Draws as many characters as are possible without the emulator and fit into the row; the
 * first one is not ASCII. Returns how many bytes were drawn. */
size_t screen_put_chars(struct screen *s, const uint8_t *at, size_t left);
/* Draws a character that is not ASCII. Returns false if only the emulator can draw it. */
bool screen_put_char(struct screen *s, uint32_t c);
/* Draws whole characters, at most EMULATOR_TEXT bytes, with the emulator. */
void screen_put_text(struct screen *s, const char *text, size_t len);
/* Executes a control character (BS, HT, LF, VT, FF, CR, SO, SI); others have no
 * effect. */
void screen_put_control(struct screen *s, uint8_t c);

/* Passes a sequence to the emulator; `effects` are as in emulator.h. */
void screen_emulate(struct screen *s, const char *bytes, size_t len, unsigned effects);
/* Records that the line in this row ends here and does not continue in the next row. */
void screen_end_line(struct screen *s);
