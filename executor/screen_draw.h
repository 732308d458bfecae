/* screen_draw -- characters where the cursor stands, by our hand or the emulator's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct screen;

/* In what a screen is not plain. */
enum screen_mode {
	SCREEN_INSERTS = 1,
	SCREEN_NEWLINES = 2, /* LF is CR LF */
	SCREEN_ORIGIN = 4,   /* rows are counted from the margin */
	SCREEN_NO_WRAP = 8,
	SCREEN_MARGINS = 16,
	SCREEN_CHARSET = 32,
	SCREEN_SHIFTED = 64,
	SCREEN_TABS = 128
};

/* Printable ASCII. */
void screen_put_ascii(struct screen *s, const uint8_t *text, size_t len);
/* Characters that begin with another than ASCII, as far as they are ours to draw and fit
 * into a row; returns how many bytes these were. */
size_t screen_put_chars(struct screen *s, const uint8_t *at, size_t left);
/* Another character; false where that is the emulator's to do. */
bool screen_put_char(struct screen *s, uint32_t c);
/* Whole characters, at most EMULATOR_TEXT bytes. */
void screen_put_text(struct screen *s, const char *text, size_t len);
/* BS, HT, LF, VT, FF, CR, SO, SI; others do nothing. */
void screen_put_control(struct screen *s, uint8_t c);

/* By the emulator; `effects` as it wants them. */
void screen_emulate(struct screen *s, const char *bytes, size_t len, unsigned effects);
/* A line that ends here does not go on in the next row. */
void screen_end_line(struct screen *s);
