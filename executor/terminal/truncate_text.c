#include "executor/terminal/truncate_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* --- blanks ---------------------------------------------------------------- */

/* Returns the length in bytes of the blank character at `at`; 0: the character there is
 * no blank. The text has no control characters but tab and newline. */
static size_t blank_at(const uint8_t *at, size_t len)
{
	if (len > 0 && (*at == ' ' || *at == '\n' || *at == '\t'))
		return 1;
	if (len > 1 && at[0] == 0xc2 && at[1] == 0xa0)
		return 2;
	if (len < 3 || at[0] < 0xe1 || at[0] > 0xe3)
		return 0;
	bool is_blank =
		memcmp(at, "\xe1\x9a\x80", 3) == 0 ||
		(memcmp(at, "\xe2\x80", 2) == 0 &&
		 (at[2] <= 0x8a || at[2] == 0xa8 || at[2] == 0xa9 || at[2] == 0xaf)) ||
		memcmp(at, "\xe2\x81\x9f", 3) == 0 || memcmp(at, "\xe3\x80\x80", 3) == 0;
	return is_blank ? 3 : 0;
}

/* Returns the length of the text without the blanks at its end. */
static size_t without_end(const uint8_t *bytes, size_t len)
{
	for (;;) {
		size_t n = len;
		while (n > 0 && bytes[n - 1] <= ' ')
			n--;
		for (size_t size = 2; size <= 3; size++)
			if (n >= size && blank_at(bytes + n - size, size) == size) {
				n -= size;
				break;
			}
		if (n == len)
			return len;
		len = n;
	}
}

static size_t blanks_before(const uint8_t *bytes, size_t len)
{
	size_t at = 0, n;

	while ((n = blank_at(bytes + at, len - at)) > 0)
		at += n;
	return at;
}

size_t truncate_text_strip(uint8_t *bytes, size_t len)
{
	size_t at = len > 0 ? blanks_before(bytes, len) : 0, out = 0;

	while (at < len) {
		const uint8_t *end = memchr(bytes + at, '\n', len - at);
		size_t line = end ? (size_t)(end - bytes) - at : len - at;
		size_t kept = without_end(bytes + at, line);
		memmove(bytes + out, bytes + at, kept);
		out += kept;
		at += line + 1;
		if (end)
			bytes[out++] = '\n';
	}
	return without_end(bytes, out);
}

size_t truncate_text_lines(const uint8_t *bytes, size_t len)
{
	size_t lines = len > 0;

	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	return lines;
}

/* --- the middle ------------------------------------------------------------ */

size_t truncate_text_clip(uint8_t *bytes, size_t *len)
{
	size_t count = *len > TRUNCATE_TEXT_CHARS ? utf8_count(bytes, *len) : 0;

	if (count <= TRUNCATE_TEXT_CHARS)
		return 0;
	size_t half = TRUNCATE_TEXT_CHARS / 2;
	size_t first = utf8_skip(bytes, *len, half);
	size_t last = first + utf8_skip(bytes + first, *len - first, count - 2 * half);
	memmove(bytes + first + TRUNCATE_TEXT_ROOM, bytes + last, *len - last);
	memcpy(bytes + first, TRUNCATE_TEXT_NOTICE, TRUNCATE_TEXT_ROOM);
	*len = first + TRUNCATE_TEXT_ROOM + *len - last;
	return last - first;
}
