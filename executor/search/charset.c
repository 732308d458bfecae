#include "executor/search/charset.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/own.h"

void charset_done(struct charset *s)
{
	if (!s)
		return;
	free(s->ranges);
	*s = (struct charset){ 0 };
}

void charset_add(struct charset *s, uint32_t first, uint32_t last)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 4;
		s->ranges = mem_resize(s->ranges, s->room, sizeof(*s->ranges));
	}
	s->ranges[s->count++] = (struct charset_range){ first, last };
}

void charset_add_all(struct charset *s, const struct charset *other)
{
	for (size_t i = 0; i < other->count; i++)
		charset_add(s, other->ranges[i].first, other->ranges[i].last);
}

static int by_first(const void *a, const void *b)
{
	const struct charset_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

void charset_settle(struct charset *s)
{
	size_t kept = 0;

	if (s->count == 0)
		return;
	qsort(s->ranges, s->count, sizeof(*s->ranges), by_first);
	for (size_t i = 1; i < s->count; i++) {
		struct charset_range *last = &s->ranges[kept], next = s->ranges[i];
		if (next.first > last->last + 1)
			s->ranges[++kept] = next;
		else if (next.last > last->last)
			last->last = next.last;
	}
	s->count = kept + 1;
}

bool charset_has(const struct charset *s, uint32_t c)
{
	for (size_t i = 0; i < s->count && s->ranges[i].first <= c; i++)
		if (c <= s->ranges[i].last)
			return true;
	return false;
}

void charset_negate(struct charset *s)
{
	struct charset rest = { 0 };
	uint32_t from = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->ranges[i].first > from)
			charset_add(&rest, from, s->ranges[i].first - 1);
		from = s->ranges[i].last + 1;
	}
	if (from <= CODEPOINT_MAX)
		charset_add(&rest, from, CODEPOINT_MAX);
	charset_done(s);
	*s = rest;
}

void charset_remove(struct charset *s, uint32_t first, uint32_t last)
{
	charset_negate(s);
	charset_add(s, first, last);
	charset_settle(s);
	charset_negate(s);
}

/* Ranges of capital letters: every `step`-th code point from first to last, and the
 * distance from a capital to its small letter. */
static const struct {
	uint32_t first, last, step;
	int32_t small;
} cases[] = {
	{ 'A', 'Z', 1, 32 },	    { 0xc0, 0xd6, 1, 32 },    { 0xd8, 0xde, 1, 32 },
	{ 0x100, 0x12e, 2, 1 },	    { 0x132, 0x136, 2, 1 },   { 0x139, 0x147, 2, 1 },
	{ 0x14a, 0x176, 2, 1 },	    { 0x178, 0x178, 1, -121 }, { 0x179, 0x17d, 2, 1 },
	{ 0x386, 0x386, 1, 38 },    { 0x388, 0x38a, 1, 37 },  { 0x38c, 0x38c, 1, 64 },
	{ 0x38e, 0x38f, 1, 63 },    { 0x391, 0x3a1, 1, 32 },  { 0x3a4, 0x3ab, 1, 32 },
	{ 0x400, 0x40f, 1, 80 },    { 0x410, 0x42f, 1, 32 },
};

void charset_fold(struct charset *s)
{
	struct charset more = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (uint32_t c = cases[i].first; c <= cases[i].last;
		     c += cases[i].step) {
			uint32_t small = c + (uint32_t)cases[i].small;
			if (charset_has(s, c))
				charset_add(&more, small, small);
			if (charset_has(s, small))
				charset_add(&more, c, c);
		}
	}
	charset_add_all(s, &more);
	charset_settle(s);
	charset_done(&more);
}

int charset_encode(uint32_t c, uint8_t out[4])
{
	static const uint8_t firsts[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	int len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = len - 1; i > 0; i--, c >>= 6)
		out[i] = (uint8_t)(0x80 | (c & 0x3f));
	out[0] = (uint8_t)(firsts[len] | c);
	return len;
}
