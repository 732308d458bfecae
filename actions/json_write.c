#include "actions/json_write.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

static void add(struct buffer *b, const void *bytes, size_t len)
{
	if (!buffer_append(b, bytes, len))
		b->is_cut = true;
}

void json_write_raw(struct buffer *b, const char *json)
{
	add(b, json, strlen(json));
}

void json_write_format(struct buffer *b, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		b->is_cut = true;
	else
		add(b, text, (size_t)len);
}

static void json_write_escaped(struct buffer *b, unsigned char byte)
{
	/* Each byte stands before the letter of its escape. */
	const char *at = "\bb\tt\nn\ff\rr\"\"\\\\";

	while (*at && (unsigned char)*at != byte)
		at += 2;
	if (*at)
		add(b, (const char[]){ '\\', at[1] }, 2); /* the common case */
	else
		json_write_format(b, "\\u%04x", byte);
}

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
	if (len == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9))
		return 0x2000u + (at[2] & 0x3f);
	return 0;
}

/* The length of a character that is written unescaped; 0: it is escaped.  Most
 * are ASCII. */
static size_t plain_length(const unsigned char *at, size_t left)
{
	if (*at < 0x80)
		return is_plain(*at);
	size_t len = utf8_length(at, left);
	return hidden_control(at, len) ? 0 : len;
}

/* Writes one escaped character, or U+FFFD for a byte that is not UTF-8; returns
 * its length. */
static size_t json_write_special(struct buffer *b, const unsigned char *at, size_t left)
{
	size_t len = utf8_length(at, left);

	if (len == 0)
		json_write_raw(b, "\xef\xbf\xbd");
	else if (len > 1)
		json_write_format(b, "\\u%04x", hidden_control(at, len));
	else
		json_write_escaped(b, *at);
	return len ? len : 1;
}

void json_write_part(struct buffer *b, const void *bytes, size_t len)
{
	/* `bytes` may be NULL where `len` is 0, and NULL + 0 is undefined in C. */
	const unsigned char *at = len ? bytes : (const void *)"", *end = at + len;

	while (at < end) {
		const unsigned char *from = at;
		size_t size = 0;
		while (at < end && (size = plain_length(at, (size_t)(end - at))))
			at += size;
		add(b, from, (size_t)(at - from));
		if (at < end)
			at += json_write_special(b, at, (size_t)(end - at));
	}
}

void json_write_bytes(struct buffer *b, const void *bytes, size_t len)
{
	json_write_raw(b, "\"");
	json_write_part(b, bytes, len);
	json_write_raw(b, "\"");
}

void json_write_text(struct buffer *b, const char *text)
{
	if (text)
		json_write_bytes(b, text, strlen(text));
	else
		json_write_raw(b, "null");
}

void json_write_key(struct buffer *b, const char *key, bool is_first)
{
	json_write_format(b, "%s\"%s\":", is_first ? "" : ",", key);
}

bool json_write_is_whole(const struct buffer *b)
{
	return !b->is_cut;
}
