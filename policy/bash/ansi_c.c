#include "policy/bash/ansi_c.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Reads as many digits of a number as are there, at most `max`. */
static uint32_t number(const char **at, const char *end, int base, int max)
{
	uint32_t value = 0;

	for (; max > 0 && *at < end && digit_of(**at) < base; max--, (*at)++)
		value = value * (uint32_t)base + (uint32_t)digit_of(**at);
	return value;
}

static size_t put_byte(uint32_t value, char ret[ANSI_C_MAX])
{
	ret[0] = (char)value;
	return ret[0] != '\0';
}

static size_t put_code(uint32_t code, char ret[ANSI_C_MAX])
{
	if (code < 0x80)
		return put_byte(code, ret);
	size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		ret[i] = (char)(0x80 | (code & 0x3f));
	ret[0] = (char)((0xf00u >> len & 0xf0) | code);
	return len;
}

/* Gives a backslash and the character behind it, which are no escape, as they are. */
static size_t put_both(char c, char ret[ANSI_C_MAX])
{
	ret[0] = '\\';
	ret[1] = c;
	return 2;
}

/* Reads \xHH, \x{HH...}, \uHHHH or \UHHHHHHHH, from behind the letter. */
static size_t hexadecimal(const char **at, const char *end, char letter,
			  char ret[ANSI_C_MAX])
{
	bool has_braces = letter == 'x' && *at < end && **at == '{';
	const char *digits = *at + has_braces;
	const char *stop = digits;
	uint32_t value = number(&stop, end, 16,
				has_braces	? INT_MAX
				: letter == 'U' ? 8
				: letter == 'u' ? 4
						: 2);

	if (stop == digits && !has_braces)
		return put_both(letter, ret);
	*at = stop + (has_braces && stop < end && *stop == '}');
	return letter == 'x' ? put_byte(value & 0xff, ret)
			     : put_code(value & 0x1fffff, ret);
}

/* Reads \cX from behind the "c"; of a backslash, two count as one. */
static size_t control(const char **at, const char *end, char ret[ANSI_C_MAX])
{
	if (*at == end)
		return put_both('c', ret);
	const char c = *(*at)++;
	if (c == '\\' && *at < end && **at == '\\')
		(*at)++;
	return put_byte(c == '?' ? 0x7f : (unsigned char)c & 0x1f, ret);
}

/* Reads an escape from behind its backslash. */
static size_t escape(const char **at, const char *end, char ret[ANSI_C_MAX])
{
	static const char letters[] = "abeEfnrtv", values[] = "\a\b\033\033\f\n\r\t\v";
	const char c = *(*at)++;
	const char *letter = c ? strchr(letters, c) : NULL;

	if (letter)
		return put_byte((unsigned char)values[letter - letters], ret);
	if (c >= '0' && c <= '7') {
		(*at)--;
		return put_byte(number(at, end, 8, 3) & 0xff, ret);
	}
	switch (c) {
	case 'x':
	case 'u':
	case 'U':
		return hexadecimal(at, end, c, ret);
	case 'c':
		return control(at, end, ret);
	case '\\':
	case '\'':
	case '"':
	case '?':
		return put_byte((unsigned char)c, ret);
	default:
		return put_both(c, ret);
	}
}

size_t ansi_c_next(const char **at, const char *end, char ret[ANSI_C_MAX])
{
	if (**at == '\\' && *at + 1 < end) {
		(*at)++;
		return escape(at, end, ret);
	}
	return put_byte((unsigned char)*(*at)++, ret);
}
