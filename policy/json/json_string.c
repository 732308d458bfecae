#include "policy/json/json_string.h"

#include <string.h>

static unsigned hex4(const char *at)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		const char c = at[i];
		const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
		value = value * 16 + ((unsigned)digit & 15);
	}
	return value;
}

static size_t put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Decodes the character whose digits stand behind \u, or a surrogate pair. */
static size_t decode_unicode(const char *text, size_t len, size_t *at, char ret[4])
{
	if (len - *at < 4) {
		*at = len;
		return 0;
	}
	unsigned c = hex4(text + *at);
	*at += 4;
	if (c >= 0xd800 && c < 0xdc00 && len - *at >= 6) {
		c = 0x10000 + ((c - 0xd800) << 10) +
		    ((hex4(text + *at + 2) - 0xdc00) & 0x3ff);
		*at += 6;
	}
	return put_utf8(ret, c);
}

size_t json_decode(const char *text, size_t len, size_t *at, char ret[4])
{
	static const char escapes[] = "b\bf\fn\nr\rt\t";

	if (*at >= len || text[*at] == '"')
		return 0;
	ret[0] = text[(*at)++];
	if (ret[0] != '\\' || *at >= len)
		return 1;
	ret[0] = text[(*at)++];
	if (ret[0] == 'u')
		return decode_unicode(text, len, at, ret);
	for (size_t i = 0; escapes[i]; i += 2)
		if (escapes[i] == ret[0]) {
			ret[0] = escapes[i + 1];
			break;
		}
	return 1;
}

char *json_decode_all(const char *text, size_t len, size_t *at, char *to)
{
	char piece[4];
	size_t n;

	do {
		/* Most strings are long runs without escapes, which are copied at
		 * once. */
		size_t plain = *at;
		while (plain < len && text[plain] != '"' && text[plain] != '\\')
			plain++;
		memcpy(to, text + *at, plain - *at);
		to += plain - *at;
		*at = plain;
		n = json_decode(text, len, at, piece);
		memcpy(to, piece, n);
		to += n;
	} while (n > 0);
	*at += *at < len;
	*to = '\0';
	return to;
}
