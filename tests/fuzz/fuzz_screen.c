/* Output of a program.  The first two bytes give the size of the screen and how
 * often it is read; the rest is printed.  In any case the cursor stays on the
 * screen, the store within its bounds, each part of the work ends, and a read
 * gives text of the promised length. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "executor/terminal/emulator.h"
#include "executor/terminal/screen.h"
#include "executor/terminal/truncate_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

static void check_store(const struct screen *s)
{
	const struct display *d = &s->display;

	claim(s->row < d->rows && s->col < d->cols);
	claim(d->budget <= DISPLAY_CELLS);
	for (int i = 0; i < 2; i++)
		claim(d->grids[i].count <= d->grids[i].made &&
		      d->grids[i].made <= d->rows);
	claim(d->back.room <= SCROLLBACK_ROOM && d->back.lines <= SCROLLBACK_LINES);
	claim(d->reported_to <= scrollback_end(&d->back));
}

static void check_text(struct screen *s, unsigned wishes)
{
	struct screen_text t = screen_take(s, wishes);

	claim(t.len <= SCREEN_TEXT_MAX);
	claim(wishes & SCREEN_WHOLE || utf8_count(t.bytes, t.len) <=
					       TRUNCATE_TEXT_CHARS + TRUNCATE_TEXT_ROOM);
	claim(utf8_is_valid(t.bytes, t.len, false));
	for (size_t i = 0; i < t.len; i++)
		claim(t.bytes[i] >= ' ' || t.bytes[i] == '\n');
	claim(t.len == 0 || (t.bytes[0] > ' ' && t.bytes[t.len - 1] > ' '));
	free(t.bytes);
	/* A second read right after the first returns no text. */
	t = screen_take(s, wishes);
	claim(t.len == 0);
}

static void check_answers(struct screen *s)
{
	struct buffer *b = screen_answers(s);

	if (!b)
		return;
	claim(buffer_len(b) <= EMULATOR_ANSWERS);
	buffer_consume(b, buffer_len(b));
}

/* Feeds the data to the screen in parts, each of which causes little work. */
static void feed(struct screen *s, const uint8_t *data, size_t len)
{
	for (size_t used; len > 0; data += used, len -= used) {
		uint64_t work = 100, before = s->display.work;
		used = screen_feed_some(s, data, len, &work);
		claim(used <= len);
		claim(used == len || s->display.work - before >= 100);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned sizes[][2] = { { 1, 2 }, { 3, 5 }, { 24, 80 },
					     { SCREEN_ROWS, SCREEN_COLS } };
	struct screen s;

	if (size < 2)
		return 0;
	const unsigned *dims = sizes[data[0] % 4];
	size_t piece = data[1] + 1u;
	screen_init(&s, dims[0], dims[1]);
	for (size_t at = 2; at < size; at += piece) {
		feed(&s, data + at, size - at < piece ? size - at : piece);
		check_store(&s);
		if (data[at] % 4 == 0)
			check_text(&s, data[at] % 8 ? SCREEN_WHOLE : 0);
		check_answers(&s);
	}
	check_text(&s, SCREEN_ENDED);
	screen_clear(&s);
	return 0;
}
