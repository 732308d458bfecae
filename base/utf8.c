#include "base/utf8.h"

/* The length that a first byte announces; 0 for what is no first byte. */
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

/* The second byte has a narrower range after some first ones: no overlong
 * forms, no surrogates, nothing beyond U+10FFFF. */
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

bool utf8_is_valid(const uint8_t *at, size_t len, bool may_be_cut)
{
	while (len > 0) {
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
