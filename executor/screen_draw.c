#include "executor/screen_draw.h"

#include <stdio.h>

#include "base/own.h"
#include "executor/emulator.h"
#include "executor/screen.h"

#define TAB 8

/* --- the emulator ---------------------------------------------------------- */

static void move_emulator(struct screen *s, unsigned col)
{
	char move[32];
	int len = snprintf(move, sizeof(move), "\x1b[%u;%uH", s->row + 1, col + 1);

	emulator_control(s->emulator, move, (size_t)len, EMULATOR_MOVES);
	s->is_ahead = false;
}

/* The emulator's cursor gets behind the character that ours is behind by way of it:
 * a combining character may follow, and behind the last column there is no other
 * way. */
static bool draw_again(struct screen *s)
{
	unsigned col = s->wraps_next ? s->col : s->col - 1;
	uint8_t c[4];

	if (s->col == 0 && !s->wraps_next)
		return false;
	size_t len = display_char(&s->display, s->row, &col, c);
	if (len == 0)
		return false;
	move_emulator(s, col);
	emulator_text(s->emulator, (const char *)c, len);
	return true;
}

static void catch_up(struct screen *s)
{
	if (!s->emulator) {
		s->emulator = emulator_new(&s->display);
		s->is_ahead = true;
	}
	if (s->is_ahead && !draw_again(s))
		move_emulator(s, s->col);
}

static void settle(struct screen *s)
{
	emulator_cursor(s->emulator, &s->row, &s->col);
	s->wraps_next = emulator_is_at_margin(s->emulator);
}

void screen_emulate(struct screen *s, const char *bytes, size_t len, unsigned effects)
{
	catch_up(s);
	emulator_control(s->emulator, bytes, len, effects);
	settle(s);
}

void screen_put_text(struct screen *s, const char *text, size_t len)
{
	catch_up(s);
	s->last = 0;
	emulator_text(s->emulator, text, len);
	settle(s);
}

/* --- our own hand ---------------------------------------------------------- */

void screen_end_line(struct screen *s)
{
	display_set_wrap(&s->display, s->row, false);
}

static void line_feed(struct screen *s)
{
	if (s->row + 1 < s->display.rows)
		s->row++;
	else
		display_scroll_up(&s->display, 0, s->display.rows, 1);
	s->wraps_next = false;
}

static void wrap(struct screen *s)
{
	display_set_wrap(&s->display, s->row, true);
	line_feed(s);
	s->col = 0;
}

static void put_plain(struct screen *s, const uint8_t *text, size_t len)
{
	unsigned cols = s->display.cols;

	while (len > 0) {
		if (s->wraps_next)
			wrap(s);
		size_t n = len < cols - s->col ? len : cols - s->col;
		display_put_ascii(&s->display, s->row, s->col, text, n);
		text += n;
		len -= n;
		s->col += (unsigned)n;
		s->wraps_next = s->col == cols;
		s->col -= s->wraps_next;
	}
	s->is_ahead = true;
}

/* Characters that combine with nothing before them, of a width that the emulator has
 * for all of them.  What is not here, it is asked for. */
static unsigned plain_width(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned width;
	} known[] = {
		{ 0xae, 0x2ff, 1 },	/* Latin */
		{ 0x370, 0x482, 1 },	/* Greek, Cyrillic */
		{ 0x48a, 0x52f, 1 },
		{ 0x2500, 0x25fc, 1 },	/* lines, blocks */
		{ 0x3041, 0x3096, 2 },	/* kana, ideographs, Hangul */
		{ 0x30a1, 0x30fa, 2 },
		{ 0x4e00, 0x9fff, 2 },
		{ 0xac00, 0xd7a3, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(known) && c >= known[i].first; i++)
		if (c <= known[i].last)
			return known[i].width;
	return 0;
}

bool screen_put_char(struct screen *s, uint32_t c)
{
	unsigned width = s->modes ? 0 : plain_width(c), cols = s->display.cols;

	if (width == 0)
		return false;
	if (s->wraps_next || s->col + width > cols)
		wrap(s);
	display_put(&s->display, s->row, s->col, c, width);
	/* As the emulator has it: before the last character, not behind it. */
	s->wraps_next = s->col + width == cols;
	s->col += s->wraps_next ? 0 : width;
	s->is_ahead = true;
	s->last = c;
	return true;
}

static void emulate_ascii(struct screen *s, const uint8_t *text, size_t len)
{
	for (size_t at = 0; at < len; at += EMULATOR_TEXT)
		screen_put_text(s, (const char *)text + at,
				len - at < EMULATOR_TEXT ? len - at : EMULATOR_TEXT);
}

void screen_put_ascii(struct screen *s, const uint8_t *text, size_t len)
{
	if (!s->modes)
		put_plain(s, text, len);
	else
		emulate_ascii(s, text, len);
	if (len > 0)
		s->last = text[len - 1];
}

static void tabulate(struct screen *s)
{
	unsigned end = s->display.cols - 1, col = (s->col / TAB + 1) * TAB;

	s->wraps_next &= s->col == end;
	s->col = col < end ? col : end;
}

static void move_plain(struct screen *s, uint8_t c)
{
	s->is_ahead = true;
	if (c == '\n' || c == '\v' || c == '\f') {
		screen_end_line(s);
		line_feed(s);
	} else if (c == '\r') {
		s->col = 0;
		s->wraps_next = false;
	} else if (c == '\b') {
		s->col -= s->col > 0;
		s->wraps_next = false;
	} else {
		tabulate(s);
	}
}

static void shift(struct screen *s, uint8_t c)
{
	bool is_out = c == 0x0e;

	if (!is_out && !(s->modes & SCREEN_SHIFTED))
		return;
	screen_emulate(s, (const char *)&c, 1, 0);
	s->modes = is_out ? s->modes | SCREEN_SHIFTED
			  : s->modes & ~(unsigned)SCREEN_SHIFTED;
}

void screen_put_control(struct screen *s, uint8_t c)
{
	if (c == 0x0e || c == 0x0f) {
		shift(s, c);
		return;
	}
	if (c < '\b' || c > '\r')
		return;
	if (!s->modes) {
		move_plain(s, c);
		return;
	}
	if (c >= '\n' && c <= '\f')
		screen_end_line(s);
	screen_emulate(s, (const char *)&c, 1, EMULATOR_KEEPS);
}
