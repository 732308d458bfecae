#include "base/utf8.h"

#include <string.h>

/* Returns the length of a character that begins with this byte; 0 if none begins
 * with it. */
static int announced(uint8_t c)
{
	if (c < 0x80)
		return 1;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c < 0xf0)
		return 3;
	return c < 0xf5 ? 4 : 0;
}

/* Returns whether byte `c` may stand at this place of a character.  After some first
 * bytes the second byte has a narrower range: no overlong forms, no surrogates,
 * nothing beyond U+10FFFF. */
static bool follows(uint8_t first, int place, uint8_t c)
{
	uint8_t low = 0x80, high = 0xbf;

	if (place == 1 && first == 0xe0)
		low = 0xa0;
	if (place == 1 && first == 0xed)
		high = 0x9f;
	if (place == 1 && first == 0xf0)
		low = 0x90;
	if (place == 1 && first == 0xf4)
		high = 0x8f;
	return c >= low && c <= high;
}

int utf8_char(const uint8_t *at, size_t len)
{
	int want = announced(at[0]);

	if (want == 0)
		return -1;
	for (int i = 1; i < want; i++) {
		if ((size_t)i == len)
			return 0;
		if (!follows(at[0], i, at[i]))
			return -i;
	}
	return want;
}

size_t utf8_ascii(const uint8_t *at, size_t len)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	size_t n = 0;
	uint64_t word;

	for (; n + sizeof(word) <= len; n += sizeof(word)) {
		memcpy(&word, at + n, sizeof(word));
		if (word & high)
			break;
	}
	while (n < len && at[n] < 0x80)
		n++;
	return n;
}

bool utf8_is_valid(const uint8_t *at, size_t len, bool may_be_cut)
{
	while (len > 0) {
		size_t plain = utf8_ascii(at, len);
		at += plain;
		len -= plain;
		if (len == 0)
			break;
		int n = utf8_char(at, len);
		if (n == 0)
			return may_be_cut;
		if (n < 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool is_first(uint8_t c)
{
	return (c & 0xc0) != 0x80;
}

size_t utf8_count(const uint8_t *at, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += is_first(at[i]);
	return count;
}

size_t utf8_skip(const uint8_t *at, size_t len, size_t n)
{
	for (size_t i = 0; i < len; i++)
		if (is_first(at[i]) && n-- == 0)
			return i;
	return len;
}

size_t utf8_length(const void *at, size_t left)
{
	int n = left > 0 ? utf8_char(at, left) : 0;

	return n > 0 ? (size_t)n : 0;
}

uint32_t utf8_code(const uint8_t *at, size_t len)
{
	static const uint8_t firsts[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = at[0] & firsts[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

/* Returns whether the code point is white space; beyond ASCII, that is Unicode's Zs,
 * Zl and Zp, and U+0085. */
static bool is_blank(uint32_t c)
{
	if (c < 0x80)
		return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
	return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t utf8_blank(const uint8_t *at, size_t left)
{
	int len = left > 0 ? utf8_char(at, left) : 0;

	return len > 0 && is_blank(utf8_code(at, len)) ? (size_t)len : 0;
}

size_t utf8_trimmed(const uint8_t *at, size_t len)
{
	while (len > 0) {
		size_t first = len - 1;
		while (first > 0 && len - first < 4 && !is_first(at[first]))
			first--;
		if (utf8_blank(at + first, len - first) != len - first)
			break;
		len = first;
	}
	return len;
}

size_t utf8_blanks(const uint8_t *at, size_t len)
{
	size_t n = 0, one;

	while ((one = utf8_blank(at + n, len - n)) > 0)
		n += one;
	return n;
}
