#include "lib/draft.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

void draft_done(struct draft *d)
{
	free(d->bytes);
	*d = (struct draft){ 0 };
}

/* Gives the place for `len` more bytes; NULL without memory. */
static char *grow(struct draft *d, size_t len)
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

void draft_add(struct draft *d, const void *bytes, size_t len)
{
	char *to = grow(d, len);

	if (!to || !len)
		return;
	memcpy(to, bytes, len);
	d->len += len;
}

void draft_put(struct draft *d, const char *text)
{
	draft_add(d, text, strlen(text));
}

void draft_putf(struct draft *d, const char *fmt, ...)
{
	char text[201];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	draft_put(d, text);
}

void draft_quote(struct draft *d, const char *text)
{
	const size_t len = strlen(text);
	size_t plain = 0;

	d->is_bad |= !utf8_is_valid((const uint8_t *)text, len, false);
	draft_add(d, "\"", 1);
	for (size_t at = 0; at < len; at++) {
		const unsigned char c = (unsigned char)text[at];
		if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f)
			continue;
		draft_add(d, text + plain, at - plain);
		draft_putf(d, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
		plain = at + 1;
	}
	draft_add(d, text + plain, len - plain);
	draft_add(d, "\"", 1);
}

void draft_base64(struct draft *d, const void *bytes, size_t len)
{
	char *to = grow(d, base64_length(len));

	if (to)
		d->len += base64_encode(bytes, len, (uint8_t *)to);
}

bool draft_end(struct draft *d)
{
	char *to = grow(d, 1);

	if (to)
		*to = '\0';
	return to && !d->is_bad;
}
