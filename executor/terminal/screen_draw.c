#include "executor/terminal/screen_draw.h"

#include <stdio.h>

#include "base/own.h"
#include "executor/terminal/emulator.h"
#include "executor/terminal/screen.h"

#define TAB 8

/* --- the emulator ---------------------------------------------------------- */

static void move_emulator(struct screen *s, unsigned col)
{
	char move[32];
	int len = snprintf(move, sizeof(move), "\x1b[%u;%uH", s->row + 1, col + 1);

	emulator_control(s->emulator, move, (size_t)len, EMULATOR_MOVES);
	s->is_ahead = false;
}

/* Moves the emulator's cursor to the screen's position by drawing the character before
 * that again. Then a combining character that follows finds its base character, and the
 * state after the last column, which no control sequence sets, is reached. */
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

/* --- our own drawing -------------------------------------------------------- */

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

/* Returns the width of a character that never combines with the one before it, and that
 * has the same width in libvterm. 0: the character is not in the table, so the emulator
 * draws it. */
static unsigned plain_width(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned width;
	} known[] = {
		{ 0xa1, 0xac, 1 },	/* Latin */
		{ 0xae, 0x2ff, 1 },
		{ 0x370, 0x482, 1 },	/* Greek, Cyrillic */
		{ 0x48a, 0x52f, 1 },
		{ 0x2010, 0x2027, 1 },	/* dashes, quotes, dots */
		{ 0x2500, 0x25fc, 1 },	/* lines, blocks */
		{ 0x3001, 0x3029, 2 },	/* marks, kana, ideographs, Hangul */
		{ 0x3041, 0x3096, 2 },
		{ 0x30a1, 0x30fe, 2 },
		{ 0x4e00, 0x9fff, 2 },
		{ 0xac00, 0xd7a3, 2 },
		{ 0xff01, 0xff60, 2 },	/* wide ASCII */
	};

	for (size_t i = 0; i < ARRAY_LEN(known) && c >= known[i].first; i++)
		if (c <= known[i].last)
			return known[i].width;
	return 0;
}

/* Cells to be drawn together; `last` is the index of the last character. */
struct run {
	uint64_t cells[128];
	size_t len, last;
};

/* Adds one character. Returns false if its width is unknown here (0), or if it does not
 * fit into `room` cells. */
static bool add_cell(struct run *run, uint32_t c, unsigned width, size_t room)
{
	if (width == 0 || run->len + width > room)
		return false;
	run->last = run->len;
	run->cells[run->len++] = c;
	if (width == 2)
		run->cells[run->len++] = ROW_TAIL;
	return true;
}

/* Draws the cells at the cursor. If they fill the last column, the cursor stays on the
 * last character, as it does in libvterm. */
static void draw(struct screen *s, const struct run *run)
{
	display_put_cells(&s->display, s->row, s->col, run->cells, run->len);
	s->display.work += run->len; /* the cost of decoding each character and of looking
				      * up its width */
	s->last = (uint32_t)run->cells[run->last];
	s->wraps_next = s->col + run->len == s->display.cols;
	s->col += (unsigned)(s->wraps_next ? run->last : run->len);
	s->is_ahead = true;
}

bool screen_put_char(struct screen *s, uint32_t c)
{
	unsigned width = s->modes ? 0 : plain_width(c), cols = s->display.cols;
	struct run run;

	if (width == 0)
		return false;
	if (s->wraps_next || s->col + width > cols)
		wrap(s);
	run.len = 0;
	/* Cannot fail: an empty run has room for one character. */
	(void)add_cell(&run, c, width, ARRAY_LEN(run.cells));
	draw(s, &run);
	return true;
}

/* Decodes a character of at most 3 bytes, since plain_width() knows no longer ones.
 * Returns its length; 0: it is longer, incomplete or invalid. */
static size_t plain_char(const uint8_t *at, size_t left, uint32_t *ret)
{
	if (at[0] < 0x80) {
		*ret = at[0];
		return 1;
	}
	if (at[0] >= 0xc2 && at[0] < 0xe0 && left > 1 && (at[1] & 0xc0) == 0x80) {
		*ret = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
		return 2;
	}
	/* No character that plain_width() knows begins with e0. */
	if (at[0] > 0xe0 && at[0] < 0xf0 && left > 2 && (at[1] & 0xc0) == 0x80 &&
	    (at[2] & 0xc0) == 0x80) {
		*ret = (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
		return 3;
	}
	return 0;
}

static unsigned width_of(uint32_t c)
{
	if (c >= 0x80)
		return plain_width(c);
	return c >= 0x20 && c < 0x7f;
}

size_t screen_put_chars(struct screen *s, const uint8_t *at, size_t left)
{
	size_t used = 0, len, room;
	struct run run;
	uint32_t c;

	len = plain_char(at, left, &c);
	if (s->modes || len < 2 || !plain_width(c))
		return 0;
	if (s->wraps_next || s->col + plain_width(c) > s->display.cols)
		wrap(s);
	room = s->display.cols - s->col;
	if (room > ARRAY_LEN(run.cells))
		room = ARRAY_LEN(run.cells);
	for (run.len = 0; len > 0 && add_cell(&run, c, width_of(c), room);) {
		used += len;
		len = used < left ? plain_char(at + used, left - used, &c) : 0;
	}
	draw(s, &run);
	return used;
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
