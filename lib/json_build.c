#include "lib/json_build.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

void json_build_done(struct json_build *d)
{
	free(d->bytes);
	*d = (struct json_build){ 0 };
}

/* Makes room for `len` more bytes and returns a pointer to it; NULL if there is no
 * memory. */
static char *grow(struct json_build *d, size_t len)
{
	if (d->is_short)
		return NULL;
	if (d->room - d->len < len) {
		size_t room = d->room ? d->room : 256;
		while (room - d->len < len)
			room *= 2;
		char *bytes = realloc(d->bytes, room);
		d->is_short = !bytes;
		if (!bytes)
			return NULL;
		d->bytes = bytes;
		d->room = room;
	}
	return d->bytes + d->len;
}

void json_build_add(struct json_build *d, const void *bytes, size_t len)
{
	char *to = grow(d, len);

	if (!to || !len)
		return;
	memcpy(to, bytes, len);
	d->len += len;
}

void json_build_put(struct json_build *d, const char *text)
{
	json_build_add(d, text, strlen(text));
}

void json_build_putf(struct json_build *d, const char *fmt, ...)
{
	char text[201];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_build_put(d, text);
}

void json_build_quote(struct json_build *d, const char *text)
{
	const size_t len = strlen(text);
	size_t plain = 0;

	d->is_bad |= !utf8_is_valid((const uint8_t *)text, len, false);
	json_build_add(d, "\"", 1);
	for (size_t at = 0; at < len; at++) {
		const unsigned char c = (unsigned char)text[at];
		if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f)
			continue;
		json_build_add(d, text + plain, at - plain);
		json_build_putf(d, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
		plain = at + 1;
	}
	json_build_add(d, text + plain, len - plain);
	json_build_add(d, "\"", 1);
}

void json_build_base64(struct json_build *d, const void *bytes, size_t len)
{
	char *to = grow(d, base64_length(len));

	if (to)
		d->len += base64_encode(bytes, len, (uint8_t *)to);
}

bool json_build_end(struct json_build *d)
{
	char *to = grow(d, 1);

	if (to)
		*to = '\0';
	return to && !d->is_bad;
}
