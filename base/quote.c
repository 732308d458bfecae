#include "base/quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/utf8.h"

/* U+0080 to U+009F: terminals take these for ESC and a letter. */
static bool is_c1(const unsigned char *at, size_t len)
{
	return len == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

char *quote_json(const char *text)
{
	if (!text)
		return text_copy("null");
	size_t left = strlen(text);
	char *quoted = mem_zeroed(1, 6 * left + 3), *to = quoted;
	*to++ = '"';
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = utf8_length(at, left);
		if (*at == '"' || *at == '\\')
			to += sprintf(to, "\\%c", *at);
		else if (*at < ' ' || *at == 0x7f || len == 0)
			to += sprintf(to, "\\u%04x", *at);
		else if (is_c1(at, len))
			to += sprintf(to, "\\u%04x", at[1]); /* the second byte is the
							      * code point, too */
		else
			to += sprintf(to, "%.*s", (int)len, at);
		left -= len ? len : 1;
		at += len ? len : 1;
	}
	*to = '"';
	return quoted;
}
