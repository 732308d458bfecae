#include "executor/terminal/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "executor/terminal/emulator.h"
#include "executor/terminal/screen_control.h"
#include "executor/terminal/screen_draw.h"
#include "executor/terminal/truncate_text.h"

#define ESC 0x1b
/* The cost of reading one byte or one run of printable bytes, in units of work of
 * display.h. */
#define FEED_WORK 2

void screen_init(struct screen *s, unsigned rows, unsigned cols)
{
	*s = (struct screen){ 0 };
	display_init(&s->display, rows, cols);
}

void screen_clear(struct screen *s)
{
	unsigned rows = s->display.rows, cols = s->display.cols;
	uint64_t work = s->display.work;

	emulator_free(s->emulator);
	display_clear(&s->display);
	screen_init(s, rows, cols);
	s->display.work = work;
}

struct buffer *screen_answers(struct screen *s)
{
	struct buffer *b = s->emulator ? emulator_answers(s->emulator) : NULL;

	return b && buffer_len(b) > 0 ? b : NULL;
}

/* --- bytes ----------------------------------------------------------------- */

static bool is_printable(uint8_t c)
{
	return c >= 0x20 && c < 0x7f;
}

static size_t printable(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *from = at;

	while (at < end && is_printable(*at))
		at++;
	return (size_t)(at - from);
}

/* Returns true if the character at `at` is one of the control characters U+0080 to U+009F
 * (C1). */
static bool is_c1(const uint8_t *at, int len)
{
	return len == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

struct text_run {
	char bytes[EMULATOR_TEXT];
	size_t len;
};

/* Adds one character to the run. Returns how many bytes the character has; 0: its bytes
 * are not complete yet. */
static size_t add_char(struct text_run *run, const uint8_t *at, size_t left)
{
	int n = utf8_char(at, left);
	const void *from = n > 0 ? (const void *)at : UTF8_REPLACEMENT;
	size_t len = n > 0 ? (size_t)n : strlen(UTF8_REPLACEMENT);

	if (n == 0)
		return 0;
	if (!is_c1(at, n)) {
		memcpy(run->bytes + run->len, from, len);
		run->len += len;
	}
	return n > 0 ? (size_t)n : (size_t)-n;
}

/* Draws characters that are not ASCII, and the ASCII between them. Returns how many bytes
 * were drawn; the others are the first bytes of an incomplete character. */
static size_t put_chars(struct screen *s, const uint8_t *at, size_t left)
{
	struct text_run run;
	size_t used = 0, n;

	run.len = 0;
	while (used < left && run.len + 4 <= sizeof(run.bytes)) {
		bool is_ascii = at[used] < 0x80;
		if (is_ascii && (s->modes || !is_printable(at[used])))
			break; /* feed_some() handles control characters; while modes are
			        * set, ASCII may have to be drawn in another character
			        * set */
		n = add_char(&run, at + used, left - used);
		if (n == 0)
			break;
		used += n;
	}
	if (run.len > 0)
		screen_put_text(s, run.bytes, run.len);
	return used;
}

static void put_replacement(struct screen *s)
{
	screen_put_text(s, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
}

/* Decodes a character of 2 to 4 bytes. */
static uint32_t code_of(const uint8_t *at, int len)
{
	uint32_t c = at[0] & (0x7fu >> len);

	for (int i = 1; i < len; i++)
		c = c << 6 | (at[i] & 0x3f);
	return c;
}

/* Completes a character whose first bytes came in an earlier call. Returns how many of
 * the new bytes were used. */
static size_t finish_char(struct screen *s, const uint8_t *at, size_t left)
{
	uint8_t bytes[4];
	size_t had = s->carry_len, more = sizeof(bytes) - had;

	if (more > left)
		more = left;
	memcpy(bytes, s->carry, had);
	memcpy(bytes + had, at, more);
	int n = utf8_char(bytes, had + more);
	if (n == 0) {
		memcpy(s->carry + had, at, more);
		s->carry_len += more;
		return more;
	}
	s->carry_len = 0;
	if (n < 0)
		put_replacement(s);
	else if (!screen_put_char(s, code_of(bytes, n)))
		(void)put_chars(s, bytes, (size_t)n);
	return (size_t)abs(n) - had; /* how many of the new bytes belong to this
				      * character, valid or not; its first bytes came in
				      * an earlier call */
}

static size_t begin_char(struct screen *s, const uint8_t *at, size_t left)
{
	size_t used = screen_put_chars(s, at, left);

	if (used == 0)
		used = put_chars(s, at, left);
	if (used == 0) {
		memcpy(s->carry, at, left);
		s->carry_len = left;
		return left;
	}
	return used;
}

/* Adds a byte to the control sequence, and executes the sequence if it is complete.
 * Returns false if the byte does not belong to the sequence. */
static bool add_to_sequence(struct screen *s, uint8_t byte)
{
	switch (sequence_add(&s->sequence, byte)) {
	case SEQUENCE_ESCAPE:
		screen_escape(s, &s->sequence);
		return true;
	case SEQUENCE_CSI:
		screen_csi(s, &s->sequence);
		return true;
	case SEQUENCE_CONTROL:
		screen_put_control(s, byte);
		return true;
	case SEQUENCE_BROKEN:
		return false;
	case SEQUENCE_NONE:
	case SEQUENCE_OPEN:
	case SEQUENCE_DROPPED:
		break;
	}
	return true;
}

/* Handles the next bytes of one kind: text, a control character, or one byte of a
 * sequence. Returns how many bytes that were. */
static size_t feed_some(struct screen *s, const uint8_t *at, const uint8_t *end)
{
	s->display.work += FEED_WORK;
	if (sequence_is_open(&s->sequence))
		return add_to_sequence(s, *at);
	if (s->carry_len > 0)
		return finish_char(s, at, (size_t)(end - at));
	size_t run = printable(at, end);
	if (run > 0) {
		screen_put_ascii(s, at, run);
		return run;
	}
	if (*at >= 0x80)
		return begin_char(s, at, (size_t)(end - at));
	if (*at == ESC)
		(void)add_to_sequence(s, ESC);
	else
		screen_put_control(s, *at);
	return 1;
}

void screen_feed(struct screen *s, const void *data, size_t len)
{
	uint64_t work = UINT64_MAX;

	/* The amount of work is unlimited here, so all bytes are used. */
	(void)screen_feed_some(s, data, len, &work);
}

size_t screen_feed_some(struct screen *s, const void *data, size_t len, uint64_t *work)
{
	const uint8_t *at = data, *end = at + len;
	const uint64_t begun = s->display.work;

	while (at < end && s->display.work - begun < *work)
		at += feed_some(s, at, end);
	uint64_t did = s->display.work - begun;
	*work -= did < *work ? did : *work;
	return (size_t)(at - (const uint8_t *)data);
}

/* --- text ------------------------------------------------------------------ */

static void end_char(struct screen *s)
{
	if (s->carry_len > 0)
		put_replacement(s);
	s->carry_len = 0;
}

/* Shortens a text to its last SCREEN_TEXT_MAX bytes, or a few less so that it begins with
 * a whole character. Returns how many bytes were dropped. */
static size_t shorten(uint8_t *bytes, size_t *len)
{
	size_t from = *len > SCREEN_TEXT_MAX ? *len - SCREEN_TEXT_MAX : 0;

	while (from > 0 && from < *len && (bytes[from] & 0xc0) == 0x80)
		from++;
	memmove(bytes, bytes + from, *len - from);
	*len -= from;
	return from;
}

struct screen_text screen_take(struct screen *s, unsigned wishes)
{
	struct screen_text t = { 0 };

	if (wishes & SCREEN_ENDED)
		end_char(s);
	struct display_text d = display_take(&s->display);
	t.cut = d.lost;
	t.cut += shorten(d.bytes, &d.len);
	t.len = truncate_text_strip(d.bytes, d.len);
	if (t.cut > 0)
		t.lines = truncate_text_lines(d.bytes, t.len);
	d.bytes = mem_resize(d.bytes, t.len + TRUNCATE_TEXT_ROOM, 1);
	if (!(wishes & SCREEN_WHOLE))
		t.cut += truncate_text_clip(d.bytes, &t.len);
	if (t.len > 0)
		t.bytes = d.bytes;
	else
		free(d.bytes);
	return t;
}
