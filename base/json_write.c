#include "base/json_write.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* How a string escapes characters: the form for hutch's own strings differs from that
 * for bytes from inside a sandbox. */
struct form {
	const char *letters; /* pairs of a byte and the letter of its escape */
	const char *invalid; /* the escape for a byte that is no UTF-8; NULL: \u and
			      * the byte's number */
};

static const struct form text_form = { .letters = "\"\"\\\\" };
static const struct form bytes_form = { .letters = "\bb\tt\nn\ff\rr\"\"\\\\",
					.invalid = UTF8_REPLACEMENT };

static void add(struct buffer *b, const void *bytes, size_t len)
{
	/* Once a piece did not fit, none is added any more: a later, shorter piece
	 * might fit, and the text would then have a gap. */
	if (b->is_cut || !buffer_append(b, bytes, len))
		b->is_cut = true;
}

static void put(struct buffer *b, const char *text)
{
	add(b, text, strlen(text));
}

void json_write_begin(struct buffer *b)
{
	buffer_init(b, SIZE_MAX);
}

char *json_write_end(struct buffer *b)
{
	const size_t len = buffer_len(b);
	char *text = mem_new(len + 1);

	memcpy(text, buffer_data(b), len);
	text[len] = '\0';
	buffer_done(b);
	return text;
}

/* --- what stands before a value --------------------------------------------------- */

static bool needs_comma(const struct buffer *b)
{
	const size_t len = buffer_len(b);

	return len > 0 && !memchr("{[\n", buffer_data(b)[len - 1], 3);
}

static void put_front(struct buffer *b, const char *key)
{
	if (needs_comma(b))
		put(b, ",");
	if (!key)
		return;
	put(b, "\"");
	put(b, key);
	put(b, "\":");
}

void json_write_raw(struct buffer *b, const char *key, const char *json)
{
	put_front(b, key);
	put(b, json);
}

void json_write_open(struct buffer *b, const char *key, const char *bracket)
{
	json_write_raw(b, key, bracket);
}

void json_write_close(struct buffer *b, const char *brackets)
{
	put(b, brackets);
}

void json_write_format(struct buffer *b, const char *key, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		b->is_cut = true;
	else
		json_write_raw(b, key, text);
}

void json_write_number(struct buffer *b, const char *key, int64_t value)
{
	json_write_format(b, key, "%" PRId64, value);
}

void json_write_count(struct buffer *b, const char *key, uint64_t count)
{
	if (count)
		json_write_format(b, key, "%" PRIu64, count);
	else
		json_write_raw(b, key, "null");
}

void json_write_bool(struct buffer *b, const char *key, bool value)
{
	json_write_raw(b, key, value ? "true" : "false");
}

/* --- strings ---------------------------------------------------------------------- */

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f;
}

/* Returns the C1 control character (U+0080 to U+009F, which terminals obey),
 * U+2028 or U+2029 (which some readers take for the end of a line) at `at`; 0:
 * none of these. */
static unsigned hidden_control(const unsigned char *at, size_t len)
{
	if (len == 2 && at[0] == 0xc2 && at[1] < 0xa0)
		return at[1];
	if (len == 3 && at[0] == 0xe2 && at[1] == 0x80 &&
	    (at[2] == 0xa8 || at[2] == 0xa9))
		return 0x2000u + (at[2] & 0x3f);
	return 0;
}

/* Returns the length of the character at `at` if it is written unescaped; 0 if it
 * must be escaped.  Most characters are ASCII. */
static size_t plain_length(const unsigned char *at, size_t left)
{
	if (*at < 0x80)
		return is_plain(*at);
	size_t len = utf8_length(at, left);
	return hidden_control(at, len) ? 0 : len;
}

static void put_code(struct buffer *b, unsigned code)
{
	char text[sizeof("\\u0000")];

	(void)snprintf(text, sizeof(text), "\\u%04x", code & 0xffff);
	put(b, text);
}

static void put_byte(struct buffer *b, unsigned char byte, const struct form *f)
{
	const char *at = f->letters;

	while (*at && (unsigned char)*at != byte)
		at += 2;
	if (*at)
		add(b, (const char[]){ '\\', at[1] }, 2);
	else
		put_code(b, byte);
}

/* Writes one character that must be escaped, or a byte that is no UTF-8; returns the
 * length of the character in the input. */
static size_t put_special(struct buffer *b, const unsigned char *at, size_t left,
			  const struct form *f)
{
	const size_t len = utf8_length(at, left);

	if (len > 1)
		put_code(b, hidden_control(at, len));
	else if (len == 0 && f->invalid)
		put(b, f->invalid);
	else
		put_byte(b, *at, f);
	return len ? len : 1;
}

/* Returns the number of bytes at the begin that are written unescaped, as far as whole
 * words of 8 bytes of ASCII tell it. */
static size_t plain_words(const unsigned char *at, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t word;
	size_t n = 0;

	for (; n + sizeof(word) <= len; n += sizeof(word)) {
		memcpy(&word, at + n, sizeof(word));
		const uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
		/* Without a high bit in `word`, x - ones has the high bit of a byte of x
		 * only if that byte, or one below it, is 0; the same holds for bytes
		 * below ' ', and for 0x7f plus 1. */
		if ((word | (word - ones * ' ') | (word + ones) | (quote - ones) |
		     (slash - ones)) &
		    high)
			break;
	}
	return n;
}

static void put_inside(struct buffer *b, const void *bytes, size_t len,
		       const struct form *f)
{
	if (!b->is_cut)
		(void)buffer_reserve(b, len); /* grows once; if it fails, add() does */
	/* `bytes` may be NULL where `len` is 0, and NULL + 0 is undefined in C. */
	const unsigned char *at = len ? bytes : (const void *)"", *end = at + len;

	while (at < end) {
		const unsigned char *from = at;
		size_t size = 0;
		at += plain_words(at, (size_t)(end - at));
		while (at < end && (size = plain_length(at, (size_t)(end - at))))
			at += size;
		add(b, from, (size_t)(at - from));
		if (at < end)
			at += put_special(b, at, (size_t)(end - at), f);
	}
}

void json_write_part(struct buffer *b, const void *bytes, size_t len)
{
	put_inside(b, bytes, len, &bytes_form);
}

void json_write_bytes(struct buffer *b, const char *key, const void *bytes, size_t len)
{
	json_write_raw(b, key, "\"");
	json_write_part(b, bytes, len);
	put(b, "\"");
}

void json_write_text(struct buffer *b, const char *key, const char *text)
{
	if (!text)
		return json_write_raw(b, key, "null");
	json_write_raw(b, key, "\"");
	put_inside(b, text, strlen(text), &text_form);
	put(b, "\"");
}

char *json_write_quoted(const char *text)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_text(&b, NULL, text);
	return json_write_end(&b);
}
