#include "policy/json/json_scan.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "policy/json/json.h"

/* A double can hold every integer up to this one, and not the next. */
#define INTEGER_MAX 9007199254740992u

struct scan {
	const unsigned char *text;
	size_t at, len;
	size_t values;
	unsigned depth;
	bool is_wide; /* integers of 64 bits are accepted */
	struct err *e;
};

static int scan_value(struct scan *s);

static int refuse(const struct scan *s, const char *why)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < s->at && i < s->len; i++) {
		column = s->text[i] == '\n' ? 1 : column + 1;
		line += s->text[i] == '\n';
	}
	return err_set(s->e, ERR_USAGE, "line %zu, column %zu: %s", line, column, why);
}

/* Returns the next byte; 0 at the end, which no rule accepts. */
static unsigned char peek(const struct scan *s)
{
	return s->at < s->len ? s->text[s->at] : 0;
}

static bool take(struct scan *s, unsigned char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->len && json_is_blank(s->text[s->at]))
		s->at++;
}

static int scan_utf8(struct scan *s)
{
	const int n = utf8_char(s->text + s->at, s->len - s->at);

	if (n <= 0)
		return refuse(s, "not valid UTF-8");
	s->at += (size_t)n;
	return 0;
}

static int scan_hex4(struct scan *s, unsigned *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		const int c = tolower(peek(s));

		if (!isxdigit(c))
			return refuse(s, "\\u wants four hexadecimal digits");
		*ret = *ret * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
		s->at++;
	}
	return 0;
}

static bool is_between(unsigned c, unsigned low, unsigned high)
{
	return c >= low && c <= high;
}

static int scan_unicode(struct scan *s)
{
	unsigned unit;

	if (scan_hex4(s, &unit))
		return -1;
	if (unit == 0)
		return refuse(s, "\\u0000 is not allowed in a string");
	if (is_between(unit, 0xdc00, 0xdfff))
		return refuse(s, "half of a surrogate pair");
	if (!is_between(unit, 0xd800, 0xdbff))
		return 0;
	if (!take(s, '\\') || !take(s, 'u'))
		return refuse(s, "half of a surrogate pair");
	if (scan_hex4(s, &unit))
		return -1;
	return is_between(unit, 0xdc00, 0xdfff) ? 0
						: refuse(s, "half of a surrogate pair");
}

static int scan_escape(struct scan *s)
{
	const unsigned char c = peek(s);

	if (!c || !strchr("\"\\/bfnrtu", c))
		return refuse(s, "no such escape in JSON");
	s->at++;
	return c == 'u' ? scan_unicode(s) : 0;
}

/* Skips ASCII characters that are no escapes; most strings consist of little else. */
static void skip_plain(struct scan *s)
{
	const unsigned char *text = s->text;
	size_t at = s->at;

	while (at < s->len && text[at] >= 0x20 && text[at] < 0x80 && text[at] != '"' &&
	       text[at] != '\\')
		at++;
	s->at = at;
}

static int scan_string(struct scan *s)
{
	if (!take(s, '"'))
		return refuse(s, "a string was expected");
	while (skip_plain(s), s->at < s->len) {
		const unsigned char c = s->text[s->at];

		if (c < 0x20)
			return refuse(s, "control character in a string");
		if (take(s, '"'))
			return 0;
		if (take(s, '\\') ? scan_escape(s) : scan_utf8(s))
			return -1;
	}
	return refuse(s, "the text ends inside a string");
}

static size_t skip_digits(struct scan *s)
{
	const size_t start = s->at;

	while (isdigit(peek(s)))
		s->at++;
	return s->at - start;
}

/* Scans the fraction and exponent of a number.  *ret_is_integer: it has neither. */
static int scan_tail(struct scan *s, bool *ret_is_integer)
{
	*ret_is_integer = true;
	if (take(s, '.')) {
		*ret_is_integer = false;
		if (!skip_digits(s))
			return refuse(s, "a digit was expected");
	}
	if (take(s, 'e') || take(s, 'E')) {
		*ret_is_integer = false;
		(void)(take(s, '+') || take(s, '-')); /* the sign of an exponent is
						       * optional */
		if (!skip_digits(s))
			return refuse(s, "a digit was expected");
	}
	return 0;
}

double json_scan_number(const char *digits)
{
	/* For the locale "C", newlocale() returns a constant of the C library and does
	 * not fail. */
	const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	const double number = c ? strtod_l(digits, NULL, c) : 0;

	if (c)
		freelocale(c);
	return number;
}

/* Tells whether an integer fits into int64_t or, if it is positive, uint64_t. */
static bool is_wide(const char *digits)
{
	errno = 0;
	if (*digits == '-')
		(void)strtoll(digits, NULL, 10);
	else
		(void)strtoull(digits, NULL, 10);
	return errno == 0;
}

static int check_number(struct scan *s, size_t start, bool is_integer)
{
	char digits[JSON_NUMBER_MAX];
	const size_t len = s->at - start;
	const size_t minus = s->text[start] == '-';

	if (len >= sizeof(digits))
		return refuse(s, "a number of more than 63 characters");
	memcpy(digits, s->text + start, len);
	digits[len] = '\0';
	if (is_integer && s->is_wide)
		return is_wide(digits) ? 0 : refuse(s, "an integer beyond 64 bits");
	/* 17 digits fit into 64 bits; numbers with more digits are beyond 2^53 in any
	 * case. */
	if (is_integer &&
	    (len - minus > 17 || strtoull(digits + minus, NULL, 10) > INTEGER_MAX))
		return refuse(s, "an integer beyond 2^53 would lose its last digits");
	/* Few numbers have a fraction or an exponent, and only these can be out of range
	 * now; to convert one takes longer than to scan a line. */
	if (!is_integer && !isfinite(json_scan_number(digits)))
		return refuse(s, "a number out of range");
	return 0;
}

static int scan_number(struct scan *s)
{
	const size_t start = s->at;
	bool is_integer;

	(void)take(s, '-'); /* the sign of a number is optional */
	if (!take(s, '0') && !skip_digits(s))
		return refuse(s, "a value was expected");
	if (isdigit(peek(s)))
		return refuse(s, "a number can't begin with 0");
	if (scan_tail(s, &is_integer))
		return -1;
	return check_number(s, start, is_integer);
}

static int scan_word(struct scan *s, const char *word)
{
	const size_t n = strlen(word);

	if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return refuse(s, "a value was expected");
	s->at += n;
	return 0;
}

static int scan_member(struct scan *s)
{
	skip_blanks(s);
	if (scan_string(s))
		return -1;
	skip_blanks(s);
	if (!take(s, ':'))
		return refuse(s, "':' was expected");
	return scan_value(s);
}

/* Scans the items of an array or object, from its opening bracket to its closing one,
 * `end`. */
static int scan_items(struct scan *s, char end, int (*item)(struct scan *))
{
	if (++s->depth > JSON_DEPTH_MAX)
		return refuse(s, "nested more than 64 deep");
	skip_blanks(s);
	if (!take(s, (unsigned char)end)) {
		do {
			if (item(s))
				return -1;
			skip_blanks(s);
		} while (take(s, ','));
		if (!take(s, (unsigned char)end))
			return refuse(s, end == '}' ? "',' or '}' was expected"
						    : "',' or ']' was expected");
	}
	s->depth--;
	return 0;
}

static int scan_value(struct scan *s)
{
	if (++s->values > JSON_VALUES_MAX)
		return refuse(s, "more than 262144 values");
	skip_blanks(s);
	if (take(s, '{'))
		return scan_items(s, '}', scan_member);
	if (take(s, '['))
		return scan_items(s, ']', scan_value);
	switch (peek(s)) {
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return scan_number(s);
	}
}

static int scan_all(struct scan *s, size_t *ret_values)
{
	if (scan_value(s))
		return -1;
	skip_blanks(s);
	if (s->at < s->len)
		return refuse(s, "something follows the value");
	*ret_values = s->values;
	return 0;
}

int json_scan(const char *text, size_t len, size_t *ret_values, struct err *e)
{
	struct scan s = { .text = (const unsigned char *)text, .len = len, .e = e };

	return scan_all(&s, ret_values);
}

int json_scan_wide(const char *text, size_t len, size_t *ret_values, struct err *e)
{
	struct scan s = {
		.text = (const unsigned char *)text, .len = len, .e = e, .is_wide = true
	};

	return scan_all(&s, ret_values);
}

enum json_type json_type_of(char first)
{
	switch (first) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

static bool is_word_end(char c)
{
	return c == ',' || c == ']' || c == '}' || json_is_blank(c);
}

size_t json_word_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && !is_word_end(text[n]))
		n++;
	return n;
}
