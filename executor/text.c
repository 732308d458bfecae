#include "executor/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"

#define HALF_CHARS (TEXT_CHARS / 2)
#define ESC	   0x1b

void text_done(struct text *t)
{
	free(t->bytes);
	*t = (struct text){ 0 };
}

static void make_room(struct text *t, size_t need)
{
	size_t room = t->room ? t->room : 512;

	while (room < need)
		room *= 2;
	if (room == t->room)
		return;
	t->bytes = mem_resize(t->bytes, room, 1);
	t->room = room;
}

/* Where the next byte goes. */
static size_t place(const struct text *t)
{
	return t->total < TEXT_SIDE ? (size_t)t->total
				    : TEXT_SIDE + (size_t)(t->total % TEXT_SIDE);
}

void text_add(struct text *t, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t at = place(t), n = 2 * TEXT_SIDE - at;
		if (n > len)
			n = len;
		make_room(t, at + n);
		memcpy(t->bytes + at, from, n);
		t->total += n;
		from += n;
		len -= n;
	}
}

/* --- what of it is text ---------------------------------------------------- */

struct reader {
	const uint8_t *at, *end;
};

static bool is_within(const struct reader *r, uint8_t low, uint8_t high)
{
	return r->at < r->end && *r->at >= low && *r->at <= high;
}

/* Parameters, intermediates, a final byte (ECMA-48, 5.4). */
static void skip_csi(struct reader *r)
{
	while (is_within(r, 0x20, 0x3f))
		r->at++;
	if (is_within(r, 0x40, 0x7e))
		r->at++;
}

/* To BEL or ESC \.  A newline ends it too: what was never ended must not take
 * all that follows with it. */
static void skip_string(struct reader *r)
{
	while (r->at < r->end && *r->at != '\n' && *r->at != '\a' && *r->at != ESC)
		r->at++;
	if (r->at == r->end || *r->at == '\n')
		return;
	if (*r->at++ == ESC && is_within(r, '\\', '\\'))
		r->at++;
}

/* Behind an ESC. */
static void skip_escape(struct reader *r)
{
	if (r->at == r->end)
		return;
	if (*r->at == '[') {
		r->at++;
		skip_csi(r);
	} else if (strchr("]PX^_", *r->at) && *r->at) {
		r->at++;
		skip_string(r);
	} else {
		while (is_within(r, 0x20, 0x2f))
			r->at++;
		if (is_within(r, 0x30, 0x7e))
			r->at++;
	}
}

static size_t without_blanks(const uint8_t *text, size_t len, const char *blanks)
{
	while (len > 0 && text[len - 1] && strchr(blanks, text[len - 1]))
		len--;
	return len;
}

/* A character that is not ASCII, as it is to be shown. */
static size_t copy_char(struct reader *r, uint8_t *to)
{
	int n = utf8_char(r->at, (size_t)(r->end - r->at));
	size_t used = n > 0 ? (size_t)n : n < 0 ? (size_t)-n : (size_t)(r->end - r->at);
	bool is_c1 = n == 2 && r->at[0] == 0xc2 && r->at[1] < 0xa0;

	if (n > 0)
		memcpy(to, r->at, used);
	else
		memcpy(to, UTF8_REPLACEMENT, 3);
	r->at += used;
	if (is_c1)
		return 0;
	return n > 0 ? used : 3;
}

/* Cleans `len` bytes into `to`, which has room for 3 * len. */
static size_t clean(const uint8_t *from, size_t len, uint8_t *to)
{
	struct reader r = { from, from + len };
	size_t out = 0;

	while (r.at < r.end) {
		uint8_t c = *r.at;
		if (c >= 0x80) {
			out += copy_char(&r, to + out);
			continue;
		}
		r.at++;
		if (c == ESC)
			skip_escape(&r);
		else if (c == '\n')
			out = without_blanks(to, out, " \t");
		if (c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f))
			to[out++] = c;
	}
	return out;
}

/* --- what of it is shown --------------------------------------------------- */

struct piece {
	uint8_t *text; /* owned */
	size_t len;
};

static struct piece cleaned(const uint8_t *from, size_t len)
{
	struct piece p = { mem_new(3 * len), 0 };

	p.len = clean(from, len, p.text);
	return p;
}

/* What is kept, in order; the two sides meet at TEXT_SIDE. */
static uint8_t *in_order(const struct text *t, size_t *ret_len)
{
	size_t len = t->total < 2 * TEXT_SIDE ? (size_t)t->total : 2 * TEXT_SIDE;
	uint8_t *all = mem_new(len);
	size_t turn = len < 2 * TEXT_SIDE ? TEXT_SIDE : place(t);

	if (len <= TEXT_SIDE || turn == TEXT_SIDE) {
		if (len > 0)
			memcpy(all, t->bytes, len);
	} else {
		memcpy(all, t->bytes, TEXT_SIDE);
		memcpy(all + TEXT_SIDE, t->bytes + turn, 2 * TEXT_SIDE - turn);
		memcpy(all + 3 * TEXT_SIDE - turn, t->bytes + TEXT_SIDE,
		       turn - TEXT_SIDE);
	}
	*ret_len = len;
	return all;
}

/* The rest of a character that the cut went through is not one. */
static size_t continuation(const uint8_t *at, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && (at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void trim(struct piece *p)
{
	size_t lead = 0;

	p->len = without_blanks(p->text, p->len, " \t\n");
	while (lead < p->len && p->text[lead] == '\n')
		lead++;
	memmove(p->text, p->text + lead, p->len - lead);
	p->len -= lead;
}

/* The first half of one and the last half of the other, which may be the same. */
static void join(struct text_taken *to, const struct piece *head,
		 const struct piece *tail)
{
	const size_t notice = sizeof(TEXT_NOTICE) - 1;
	size_t count = utf8_count(tail->text, tail->len);
	size_t first = utf8_skip(head->text, head->len, HALF_CHARS);
	size_t from = count > HALF_CHARS
			      ? utf8_skip(tail->text, tail->len, count - HALF_CHARS)
			      : 0;

	to->len = first + notice + tail->len - from;
	to->bytes = mem_new(to->len);
	memcpy(to->bytes, head->text, first);
	memcpy(to->bytes + first, TEXT_NOTICE, notice);
	memcpy(to->bytes + first + notice, tail->text + from, tail->len - from);
	to->cut += from + (head == tail ? 0 : head->len) - first;
}

static void take_whole(const uint8_t *all, size_t len, struct text_taken *ret)
{
	struct piece p = cleaned(all, len);

	trim(&p);
	if (utf8_count(p.text, p.len) > TEXT_CHARS) {
		join(ret, &p, &p);
		free(p.text);
		return;
	}
	ret->bytes = p.text;
	ret->len = p.len;
}

static void take_sides(const uint8_t *all, struct text_taken *ret)
{
	const uint8_t *second = all + TEXT_SIDE;
	size_t skip = continuation(second, TEXT_SIDE);
	struct piece head = cleaned(all, TEXT_SIDE);
	struct piece tail = cleaned(second + skip, TEXT_SIDE - skip);

	trim(&head);
	trim(&tail);
	join(ret, &head, &tail);
	free(head.text);
	free(tail.text);
}

struct text_taken text_take(struct text *t)
{
	struct text_taken taken = { 0 };
	size_t len;

	if (t->total == 0)
		return taken;
	uint8_t *all = in_order(t, &len);
	if (t->total > 2 * TEXT_SIDE) {
		taken.cut = t->total - 2 * TEXT_SIDE;
		take_sides(all, &taken);
	} else {
		take_whole(all, len, &taken);
	}
	free(all);
	text_done(t);
	return taken;
}

size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used)
{
	size_t at = 0, out = 0;

	while (at < len) {
		int n = utf8_char(from + at, len - at);
		if (n == 0 && !is_end)
			break;
		size_t used = n > 0 ? (size_t)n : n < 0 ? (size_t)-n : len - at;
		memcpy(to + out, n > 0 ? (const void *)(from + at) : UTF8_REPLACEMENT,
		       n > 0 ? used : 3);
		out += n > 0 ? used : 3;
		at += used;
	}
	*ret_used = at;
	return out;
}
