/* Edits of arbitrary files: afterwards the file has the inserted text,
 * everything else is unchanged, and the output is bounded.  The input is a
 * file, the text to find, and the text to insert, with a byte 0 between them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/edit/diff.h"
#include "executor/edit/edit.h"
#include "executor/edit/lint.h"
#include "executor/files/encoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* Takes the bytes up to the next 0. */
static struct bytes take(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
	struct bytes b = { *data, end ? (size_t)(end - *data) : *size };

	*data += b.len + (end != NULL);
	*size -= b.len + (end != NULL);
	return b;
}

static bool ends_as(struct bytes whole, struct bytes end)
{
	return whole.len >= end.len &&
	       (end.len == 0 ||
		!memcmp(whole.data + whole.len - end.len, end.data, end.len));
}

static bool begins_as(struct bytes whole, struct bytes begin)
{
	return whole.len >= begin.len &&
	       (begin.len == 0 || !memcmp(whole.data, begin.data, begin.len));
}

/* Compares the new file: head, inserted text, tail.  A file that now begins
 * with a byte order mark, which was inserted, is not compared. */
static void check_lines(const struct encoding *x, const struct buffer *made,
			struct bytes head, struct bytes new, struct bytes tail)
{
	AUTO_FREE uint8_t *seen = NULL;
	struct edit_text t;
	size_t bad, len;

	must(edit_text_init(&t, (struct bytes){ buffer_data(made), buffer_len(made) }, x,
			    &bad));
	seen = edit_needle(new, &len);
	if (t.lines.len != head.len + len + tail.len && t.mark && head.len == 0)
		return edit_text_done(&t);
	must(t.lines.len == head.len + len + tail.len);
	must(begins_as(t.lines, head) && ends_as(t.lines, tail));
	must(len == 0 || !memcmp(t.lines.data + head.len, seen, len));
	edit_text_done(&t);
}

/* Passes the inserted text to lint as a linter's output about both texts. */
static void lint(struct bytes old, struct bytes new)
{
	const struct lint_order o = { "f.py", old, new, NULL };
	struct buffer b;

	buffer_init(&b, LINT_TEXT_MAX);
	lint_tell(&o, old, new, &b);
	must(buffer_len(&b) > 0 && utf8_is_valid(buffer_data(&b), buffer_len(&b), false));
	buffer_consume(&b, buffer_len(&b));
	lint_tell(&o, new, new, &b);
	must(buffer_len(&b) > 0);
	buffer_done(&b);
}

/* Checks that encoding the decoded text gives the same file. */
static void check_there_and_back(const struct edit_text *t)
{
	struct buffer back;
	uint32_t lacks;

	must(utf8_is_valid(t->text.data, t->text.len, false));
	must(encoding_place(t->encoding, t->raw, t->text.len) == t->raw.len);
	buffer_init(&back, t->raw.len + 1);
	must(encoding_put(t->encoding, t->text, &back, &lacks));
	must(buffer_len(&back) == t->raw.len);
	must(t->raw.len == 0 || !memcmp(buffer_data(&back), t->raw.data, t->raw.len));
	buffer_done(&back);
}

static void splice(const struct edit_text *t, struct bytes literal, struct bytes new)
{
	struct edit_found f = edit_find(t->lines, literal);
	size_t behind = f.at + literal.len;
	struct buffer made;

	if (f.count == 0)
		return;
	uint32_t lacks = edit_splice(t, f.at, behind, new, &made);
	must(!made.is_cut && buffer_len(&made) <= made.max);
	if (lacks) {
		must(lacks >= 0x80);
		return buffer_done(&made);
	}
	check_lines(t->encoding, &made, (struct bytes){ t->lines.data, f.at }, new,
		    (struct bytes){ t->lines.data + behind, t->lines.len - behind });
	buffer_done(&made);
}

static void show(struct bytes lines, size_t first)
{
	struct buffer b;

	buffer_init(&b, lines.len * 24 + 1024);
	size_t cut = edit_put_numbered(&b, lines, first);
	must(cut == 0 || utf8_count(lines.data, lines.len) == cut + EDIT_CLIP);
	must(buffer_data(&b)[buffer_len(&b) - 1] == '\n');
	must(utf8_is_valid(buffer_data(&b), buffer_len(&b), false));
	buffer_done(&b);
}

static void tell(struct bytes old, struct bytes new, uint32_t steps)
{
	struct buffer b;

	buffer_init(&b, 4096);
	diff_put_in(&b, "/f", old, new, steps);
	must(buffer_len(&b) <= 4096);
	buffer_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes raw = take(&data, &size), old = take(&data, &size),
		     new = take(&data, &size);
	struct edit_text t;
	struct buffer places;
	size_t bad, len;

	tell(raw, new, 64);
	tell(raw, new, DIFF_STEPS);
	lint(old, new);
	lint(raw, old);
	const struct encoding *x = encoding_guess(raw, NULL);
	if (!edit_text_init(&t, raw, x, &bad)) {
		must(bad < raw.len);
		return 0;
	}
	check_there_and_back(&t);
	AUTO_FREE uint8_t *literal = edit_needle(old, &len);
	if (utf8_is_valid(old.data, old.len, false) &&
	    utf8_is_valid(new.data, new.len, false))
		splice(&t, (struct bytes){ literal, len }, new);
	show(edit_slice(t.lines, 1, 4), 2);
	show(t.lines, 1);
	must(edit_count(t.lines) <= t.lines.len);
	buffer_init(&places, 8 * EDIT_PLACES);
	edit_put_places(&places, t.lines, (struct bytes){ literal, len });
	buffer_done(&places);
	edit_text_done(&t);
	return 0;
}
