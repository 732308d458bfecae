#include "sandbox/act/put.h"

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

void put_raw(struct buffer *b, const char *json)
{
	add(b, json, strlen(json));
}

void put_format(struct buffer *b, const char *fmt, ...)
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

static void put_escaped(struct buffer *b, unsigned char byte)
{
	/* Each character stands before what it is written as. */
	const char *at = "\bb\tt\nn\ff\rr\"\"\\\\";
	char text[8];

	while (*at && (unsigned char)*at != byte)
		at += 2;
	if (*at)
		(void)snprintf(text, sizeof(text), "\\%c", at[1]);
	else
		(void)snprintf(text, sizeof(text), "\\u%04x", byte);
	put_raw(b, text);
}

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f;
}

void put_part(struct buffer *b, const void *bytes, size_t len)
{
	const unsigned char *at = bytes, *end = at + len;

	while (at < end) {
		const unsigned char *from = at;
		size_t size = 0;
		while (at < end && is_plain(*at) && (size = utf8_length(at, (size_t)(end - at))))
			at += size;
		add(b, from, (size_t)(at - from));
		if (at == end)
			break;
		if (is_plain(*at))
			put_raw(b, "\xef\xbf\xbd");
		else
			put_escaped(b, *at);
		at++;
	}
}

void put_bytes(struct buffer *b, const void *bytes, size_t len)
{
	put_raw(b, "\"");
	put_part(b, bytes, len);
	put_raw(b, "\"");
}

void put_text(struct buffer *b, const char *text)
{
	if (text)
		put_bytes(b, text, strlen(text));
	else
		put_raw(b, "null");
}

void put_key(struct buffer *b, const char *key, bool is_first)
{
	put_format(b, "%s\"%s\":", is_first ? "" : ",", key);
}

bool put_is_whole(const struct buffer *b)
{
	return !b->is_cut;
}
