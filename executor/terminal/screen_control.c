#include "executor/terminal/screen_control.h"

#include <stdio.h>
#include <string.h>

#include "executor/terminal/emulator.h"
#include "executor/terminal/screen.h"
#include "executor/terminal/screen_draw.h"

static void emulate(struct screen *s, const char *text, unsigned effects)
{
	screen_emulate(s, text, strlen(text), effects);
}

static void set_mode(struct screen *s, enum screen_mode mode, bool is_on)
{
	s->modes = is_on ? s->modes | mode : s->modes & ~(unsigned)mode;
}

/* --- CSI ------------------------------------------------------------------- */

/* Passes a CSI sequence on to the emulator, with at most two arguments; none of the
 * sequences that are passed on takes more. */
static void pass(struct screen *s, const struct sequence *q, unsigned effects)
{
	char text[32], args[2][8] = { "", "" };

	for (unsigned i = 0; i < 2; i++)
		if (sequence_arg(q, i, SEQUENCE_NO_ARG) != SEQUENCE_NO_ARG)
			(void)snprintf(args[i], sizeof(args[i]), "%u",
				       sequence_arg(q, i, 0));
	(void)snprintf(text, sizeof(text), "\x1b[%.1s%s%s%s%.1s%c",
		       (char[]){ (char)q->leader, 0 }, args[0], *args[1] ? ";" : "",
		       args[1], (char[]){ (char)q->between, 0 }, q->final);
	emulate(s, text, effects);
}

/* Executes ED (erase in display), which does not move the cursor. The emulator is not
 * used, since libvterm would go through all its rows, blank or not. */
static void erase_rows(struct screen *s, unsigned what)
{
	struct display *d = &s->display;
	const unsigned from = what == 0 ? s->row + 1 : 0;
	const unsigned end = what == 1 ? s->row : d->rows;

	if (what > 2)
		return;
	if (what == 0)
		display_erase(d, s->row, s->row + 1, s->col, d->cols);
	if (what == 1)
		display_erase(d, s->row, s->row + 1, 0, s->col + 1);
	display_erase(d, from, end, 0, d->cols);
}

/* Erases the screen or a part of it. If all of it is erased, its content is first moved
 * to the scrollback, as tmux does, so that it is still reported. */
static void erase_display(struct screen *s, const struct sequence *q)
{
	unsigned what = sequence_arg(q, 0, 0);

	if (what == 3) {
		display_forget(&s->display);
		return;
	}
	if (what == 2 || (what == 0 && s->row == 0 && s->col == 0))
		display_put_away(&s->display);
	if (s->is_ahead && s->wraps_next)
		emulate(s, "", 0); /* Tells the emulator the cursor's position now: to do
				    * so, it draws the last character of the line again,
				    * which must not happen after that was erased. */
	erase_rows(s, what);
}

static void set_ansi_mode(struct screen *s, unsigned mode, bool is_on)
{
	if (mode == 4) {
		emulate(s, is_on ? "\x1b[4h" : "\x1b[4l", 0);
		set_mode(s, SCREEN_INSERTS, is_on);
	} else if (mode == 20) {
		emulate(s, is_on ? "\x1b[20h" : "\x1b[20l", 0);
		set_mode(s, SCREEN_NEWLINES, is_on);
	}
}

static void set_private_mode(struct screen *s, unsigned mode, bool is_on)
{
	struct sequence q = { .leader = '?', .final = is_on ? 'h' : 'l', .count = 1,
			      .args = { (uint16_t)(mode == 47 ? 1047 : mode) } };

	switch (mode) {
	case 1:
		s->has_application_keys = is_on;
		return;
	case 6:
		pass(s, &q, EMULATOR_MOVES);
		set_mode(s, SCREEN_ORIGIN, is_on);
		return;
	case 7:
		pass(s, &q, 0);
		set_mode(s, SCREEN_NO_WRAP, !is_on);
		return;
	case 47: case 1047: case 1048: case 1049:
		pass(s, &q, EMULATOR_MOVES);
		return;
	default: /* other modes, such as those of the mouse and the cursor's look, change
		  * no text */
		return;
	}
}

static void set_modes(struct screen *s, const struct sequence *q)
{
	bool is_on = q->final == 'h';

	for (unsigned i = 0; i < q->count; i++)
		if (q->leader)
			set_private_mode(s, sequence_arg(q, i, 0), is_on);
		else
			set_ansi_mode(s, sequence_arg(q, i, 0), is_on);
}

static void set_margins(struct screen *s, const struct sequence *q)
{
	bool is_all = sequence_arg(q, 0, 1) <= 1 &&
		      sequence_arg(q, 1, s->display.rows) >= s->display.rows;

	pass(s, q, EMULATOR_MOVES);
	set_mode(s, SCREEN_MARGINS, !is_all);
}

static void repeat(struct screen *s, const struct sequence *q)
{
	unsigned count = sequence_arg(q, 0, 1);
	uint32_t c = s->last;
	uint8_t run[64];

	if (count > s->display.cols)
		count = s->display.cols;
	if (c >= 0x80)
		while (count > 0 && screen_put_char(s, c))
			count--;
	if (c == 0 || c >= 0x80)
		return;
	memset(run, (int)c, sizeof(run));
	for (unsigned n; count > 0; count -= n) {
		n = count < sizeof(run) ? count : sizeof(run);
		screen_put_ascii(s, run, n);
	}
}

/* Executes DECSTR (soft reset), which does not move the cursor. */
static void reset_modes(struct screen *s)
{
	unsigned row = s->row, col = s->col;

	emulate(s, "\x1b[r\x1b[?6l\x1b[4l\x1b[20l\x1b[?7h\x1b(B\x0f", EMULATOR_MOVES);
	s->modes &= SCREEN_TABS;
	s->has_application_keys = false;
	s->row = row;
	s->col = col;
	s->is_ahead = true;
}

/* Passes a sequence on to the emulator if it moves the cursor, changes rows, or queries
 * the terminal. Returns false for all others. */
static bool is_passed(struct screen *s, const struct sequence *q)
{
	if (strchr("ABCDEFGHIZ`adefjk", q->final))
		pass(s, q, EMULATOR_MOVES);
	else if (strchr("@KLMPXnc", q->final))
		pass(s, q, 0);
	else if (q->final == 'S')
		pass(s, q, EMULATOR_KEEPS);
	/* T scrolls down; with more arguments it is about the mouse */
	else if (q->final == 'T' && q->count <= 1)
		pass(s, q, 0);
	else
		return false;
	return true;
}

static void standard_csi(struct screen *s, const struct sequence *q)
{
	if (is_passed(s, q))
		return;
	switch (q->final) {
	case 'J':
		erase_display(s, q);
		return;
	case 'b':
		repeat(s, q);
		return;
	case 'g':
		pass(s, q, 0);
		set_mode(s, SCREEN_TABS, true);
		return;
	case 'h': case 'l':
		set_modes(s, q);
		return;
	case 'r':
		set_margins(s, q);
		return;
	case 's':
		emulate(s, "\x1b" "7", 0);
		return;
	case 'u':
		emulate(s, "\x1b" "8", EMULATOR_MOVES);
		return;
	default: /* colours and unknown sequences change no text */
		return;
	}
}

static void private_csi(struct screen *s, const struct sequence *q)
{
	struct sequence open = *q;

	open.leader = 0;
	if (q->final == 'h' || q->final == 'l')
		set_modes(s, q);
	else if (q->final == 'n')
		pass(s, q, 0);
	else if (q->final == 'J') /* DECSED erases all characters but protected ones, and
				   * this screen has no protected characters */
		erase_display(s, &open);
	else if (q->final == 'K')
		pass(s, &open, 0);
}

void screen_csi(struct screen *s, const struct sequence *q)
{
	if (q->between == '!' && !q->leader && q->final == 'p')
		reset_modes(s);
	else if (q->between == '$' && q->leader == '?' && q->final == 'p')
		pass(s, q, 0);
	else if (q->between)
		return;
	else if (!q->leader)
		standard_csi(s, q);
	else if (q->leader == '?')
		private_csi(s, q);
	else if (q->leader == '>' && q->final == 'c')
		pass(s, q, 0);
}

/* --- ESC ------------------------------------------------------------------- */

/* Executes RIS (full reset). The screen's content is moved to the scrollback, as when it
 * is erased. */
static void reset_all(struct screen *s)
{
	display_choose(&s->display, false);
	display_put_away(&s->display);
	emulator_free(s->emulator);
	s->emulator = NULL;
	s->row = s->col = s->modes = 0;
	s->wraps_next = s->has_application_keys = false;
}

static void set_charset(struct screen *s, const struct sequence *q)
{
	const char text[] = { 0x1b, (char)q->between, (char)q->final, 0 };

	if (!strchr("0AB", q->final))
		return;
	emulate(s, text, 0);
	if (q->between == '(')
		set_mode(s, SCREEN_CHARSET, q->final != 'B');
}

static void simple_escape(struct screen *s, uint8_t final)
{
	const char text[] = { 0x1b, (char)final, 0 };

	switch (final) {
	case '7':
		emulate(s, text, 0);
		return;
	case '8':
		emulate(s, text, EMULATOR_MOVES);
		return;
	case 'D': case 'E':
		screen_end_line(s);
		emulate(s, text, EMULATOR_KEEPS | EMULATOR_MOVES);
		return;
	case 'M':
		emulate(s, text, EMULATOR_MOVES);
		return;
	case 'H':
		emulate(s, text, 0);
		set_mode(s, SCREEN_TABS, true);
		return;
	case 'c':
		reset_all(s);
		return;
	default:
		return;
	}
}

void screen_escape(struct screen *s, const struct sequence *q)
{
	if (!q->between)
		simple_escape(s, q->final);
	else if (q->between >= '(' && q->between <= '+')
		set_charset(s, q);
}
