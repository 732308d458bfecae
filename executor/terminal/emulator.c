#include "executor/terminal/emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "base/mem.h"
#include "executor/terminal/display.h"

/* After this many consecutive bytes of text that did not move the cursor,
 * forget_combined() is called. Such text is mostly combining characters: libvterm keeps
 * all of them, and draws each again together with those before it, even if the cursor was
 * elsewhere meanwhile. */
#define IDLE_MAX 32

/* The cost of libvterm itself, in units of work of display.h: for each call, for each
 * character, and for each row of a new emulator. */
#define CALL_WORK  64
#define GLYPH_WORK 8
#define ROW_WORK   4

struct emulator {
	VTerm *vt;	   /* owned */
	VTermState *state; /* owned by `vt` */
	struct display *display; /* borrowed; the emulator draws on this display */
	struct buffer answers;
	VTermPos next;	/* where the next character is expected, unless it wraps */
	bool keeps;	/* rows that leave the display at its top go to the scrollback */
	bool is_mute;	/* libvterm's callbacks for drawing do nothing */
	bool is_at_margin;
	unsigned idle_bytes;
};

/* --- callbacks of the library ------------------------------------------------ */

static size_t count_chars(const uint32_t *chars)
{
	size_t n = 0;

	while (chars[n])
		n++;
	return n;
}

/* If the character at `pos` has wrapped, records that its line began in the row above. It
 * has wrapped if libvterm draws it at the left of the next row instead of where it was
 * expected. */
static void note_wrap(struct emulator *m, VTermPos pos)
{
	if (pos.col == 0 && m->next.col > 0 && pos.row == m->next.row + 1)
		display_set_wrap(m->display, (unsigned)m->next.row, true);
}

static int put_glyph(VTermGlyphInfo *info, VTermPos pos, void *user)
{
	struct emulator *m = user;
	const struct display *d = m->display;
	int end = pos.col + info->width;

	m->display->work += GLYPH_WORK;
	if (m->is_mute || pos.row < 0 || (unsigned)pos.row >= d->rows || pos.col < 0 ||
	    end < pos.col || (unsigned)end > d->cols)
		return 1;
	note_wrap(m, pos);
	m->next = (VTermPos){ .row = pos.row, .col = end };
	m->is_at_margin = (unsigned)end == d->cols;
	/* A combining character that has no character before it has the width 0 in
	 * libvterm; nothing is drawn for it. */
	if (info->width < 1 || info->width > 2)
		return 1;
	display_put(m->display, (unsigned)pos.row, (unsigned)pos.col,
		    row_cell(info->chars, count_chars(info->chars)),
		    (unsigned)info->width);
	return 1;
}

static unsigned rows_of(VTermRect r)
{
	return r.end_row > r.start_row ? (unsigned)(r.end_row - r.start_row) : 0;
}

static bool is_inside(const struct emulator *m, VTermRect r)
{
	return r.start_row >= 0 && r.start_col >= 0 && r.start_row < r.end_row &&
	       r.start_col < r.end_col && (unsigned)r.end_row <= m->display->rows &&
	       (unsigned)r.end_col <= m->display->cols;
}

static int erase(VTermRect r, int selective, void *user)
{
	struct emulator *m = user;

	(void)selective;
	m->display->work += rows_of(r); /* libvterm has changed its own data for each
					 * row */
	if (!m->is_mute && is_inside(m, r))
		display_erase(m->display, (unsigned)r.start_row, (unsigned)r.end_row,
			      (unsigned)r.start_col, (unsigned)r.end_col);
	return 1;
}

/* Called by libvterm to move cells. Moves rows of full width up or down, or the cells of
 * one row left or right. */
static int scroll_rect(VTermRect r, int downward, int rightward, void *user)
{
	struct emulator *m = user;
	bool is_full = r.start_col == 0 && (unsigned)r.end_col == m->display->cols;

	m->display->work += rows_of(r) / 16; /* libvterm has moved its own data for these
					      * rows */
	if (m->is_mute || !is_inside(m, r))
		return 1;
	if (rightward != 0 && r.end_row == r.start_row + 1)
		display_shift(m->display, (unsigned)r.start_row, (unsigned)r.start_col,
			      -rightward);
	else if (rightward == 0 && is_full && m->keeps)
		display_scroll_up(m->display, (unsigned)r.start_row, (unsigned)r.end_row,
				  downward);
	else if (rightward == 0 && is_full)
		display_scroll(m->display, (unsigned)r.start_row, (unsigned)r.end_row,
			       downward);
	if (rightward == 0 && m->next.row >= r.start_row && m->next.row < r.end_row)
		m->next.row -= downward;
	return 1;
}

static int set_property(VTermProp prop, VTermValue *value, void *user)
{
	struct emulator *m = user;

	if (prop == VTERM_PROP_ALTSCREEN)
		display_choose(m->display, value->boolean);
	return 1;
}

static void say(const char *bytes, size_t len, void *user)
{
	struct emulator *m = user;

	/* Fails if the buffer is full, since the program does not read its answers;
	 * further answers are dropped. */
	(void)buffer_append(&m->answers, bytes, len);
}

static const VTermStateCallbacks callbacks = {
	.putglyph = put_glyph,
	.scrollrect = scroll_rect,
	.erase = erase,
	.settermprop = set_property,
};

/* --- input of the library ---------------------------------------------------- */

struct emulator *emulator_new(struct display *d)
{
	struct emulator *m = mem_zeroed(1, sizeof(*m));

	m->display = d;
	d->work += ROW_WORK * d->rows;
	m->vt = mem_or_abort(vterm_new((int)d->rows, (int)d->cols));
	m->state = mem_or_abort(vterm_obtain_state(m->vt));
	buffer_init(&m->answers, EMULATOR_ANSWERS);
	vterm_set_utf8(m->vt, 1);
	vterm_state_reset(m->state, 1);
	vterm_state_set_callbacks(m->state, &callbacks, m);
	vterm_output_set_callback(m->vt, say, m);
	return m;
}

void emulator_free(struct emulator *m)
{
	if (!m)
		return;
	vterm_free(m->vt);
	buffer_done(&m->answers);
	free(m);
}

static VTermPos cursor(const struct emulator *m)
{
	VTermPos pos;

	vterm_state_get_cursorpos(m->state, &pos);
	return pos;
}

void emulator_control(struct emulator *m, const char *bytes, size_t len,
		      unsigned effects)
{
	VTermPos before = cursor(m);

	m->keeps = effects & EMULATOR_KEEPS;
	vterm_input_write(m->vt, bytes, len);
	VTermPos after = cursor(m);
	/* libvterm searches for a tab stop column by column, so the cost of a tab depends
	 * on the distance. */
	m->display->work += CALL_WORK + (unsigned)abs(after.col - before.col) / 4;
	if (effects & EMULATOR_MOVES || after.row != before.row ||
	    after.col != before.col)
		m->is_at_margin = false;
}

/* Makes libvterm forget the combining characters that it keeps: gives it an 'x' at
 * another place, without drawing that, so that it combines the following ones with the
 * 'x'. */
static void forget_combined(struct emulator *m)
{
	char home[] = "\x1b[1;1Hx", back[32];
	VTermPos pos = cursor(m);
	int len = snprintf(back, sizeof(back), "\x1b[%d;%dH", pos.row + 1, pos.col + 1);

	m->is_mute = true;
	m->display->work += 2 * CALL_WORK;
	vterm_input_write(m->vt, home, sizeof(home) - 1);
	vterm_input_write(m->vt, back, (size_t)len);
	m->is_mute = m->is_at_margin = false;
	m->idle_bytes = 0;
}

void emulator_text(struct emulator *m, const char *bytes, size_t len)
{
	VTermPos before = cursor(m);

	if (m->idle_bytes >= IDLE_MAX)
		forget_combined(m);
	m->keeps = true;
	m->display->work += CALL_WORK;
	m->next = before;
	if (m->is_at_margin)
		m->next.col++;
	vterm_input_write(m->vt, bytes, len);
	VTermPos after = cursor(m);
	bool is_idle = after.row == before.row && after.col == before.col;
	m->idle_bytes = is_idle ? m->idle_bytes + (unsigned)len : 0;
}

void emulator_cursor(const struct emulator *m, unsigned *ret_row, unsigned *ret_col)
{
	VTermPos pos = cursor(m);

	*ret_row = (unsigned)pos.row;
	*ret_col = (unsigned)pos.col;
}

bool emulator_is_at_margin(const struct emulator *m)
{
	return m->is_at_margin;
}

struct buffer *emulator_answers(struct emulator *m)
{
	return &m->answers;
}
