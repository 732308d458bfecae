#include "executor/terminal/text.h"

#include <string.h>

#include "base/utf8.h"

size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used)
{
	size_t at = 0, out = 0;

	while (at < len) {
		size_t plain = utf8_ascii(from + at, len - at);
		memcpy(to + out, from + at, plain);
		at += plain;
		out += plain;
		if (at == len)
			break;
		int n = utf8_char(from + at, len - at);
		if (n == 0 && !is_end)
			break;
		size_t used = n > 0 ? (size_t)n : n < 0 ? (size_t)-n : len - at;
		memcpy(to + out, n > 0 ? (const void *)(from + at) : UTF8_REPLACEMENT,
		       n > 0 ? used : 3);
		out += n > 0 ? used : 3;
		at += used;
	}
	*ret_used = at;
	return out;
}
