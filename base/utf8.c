#include "base/utf8.h"

#include "base/own.h"

size_t utf8_length(const void *at, size_t left)
{
	/* The second byte's range keeps out what would be too long or too high. */
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
	const unsigned char *byte = at;

	for (size_t i = 0; left > 0 && i < ARRAY_LEN(forms); i++) {
		size_t len = forms[i].len;
		if (byte[0] < forms[i].first || byte[0] > forms[i].last)
			continue;
		if (len > left)
			return 0;
		if (len > 1 && (byte[1] < forms[i].low || byte[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < len; k++)
			if ((byte[k] & 0xc0) != 0x80)
				return 0;
		return len;
	}
	return 0;
}
