#include "base/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/own.h"

/* How many bytes of UTF-8 start at `at`; 0 where there is no such character,
 * since JSON has room for nothing else.  The second byte's range keeps out
 * overlong forms, surrogates and what is above U+10FFFF (RFC 3629). */
static size_t utf8_len(const unsigned char *at)
{
	static const struct {
		unsigned char first, last, low, high; /* first byte; second byte */
		size_t len;
	} forms[] = {
		{ 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (forms[i].len > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if ((at[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

char *quote_json(const char *text)
{
	if (!text)
		return text_copy("null");
	char *quoted = calloc(1, 6 * strlen(text) + 3), *to = quoted;

	if (!quoted)
		abort();
	*to++ = '"';
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = utf8_len(at);
		if (*at == '"' || *at == '\\')
			to += sprintf(to, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f || len == 0)
			to += sprintf(to, "\\u%04x", *at);
		else
			to += sprintf(to, "%.*s", (int)len, at);
		at += len ? len : 1;
	}
	*to = '"';
	return quoted;
}
