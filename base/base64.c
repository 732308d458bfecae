#include "base/base64.h"

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(const void *from, size_t len, uint8_t *to)
{
	const uint8_t *at = from;
	size_t out = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i;
		uint32_t v = (uint32_t)at[i] << 16;
		if (have > 1)
			v |= (uint32_t)at[i + 1] << 8;
		if (have > 2)
			v |= at[i + 2];
		to[out++] = (uint8_t)digits[v >> 18];
		to[out++] = (uint8_t)digits[v >> 12 & 63];
		to[out++] = have > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		to[out++] = have > 2 ? (uint8_t)digits[v & 63] : '=';
	}
	return out;
}

/* Returns the value of a base64 digit; -1 for any other character. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four characters, the last `pads` of which are '='.  Returns false if a bit
 * that belongs to no byte is not 0: no encoder writes such a text. */
static bool decode_group(const char *from, size_t pads, uint8_t *to)
{
	uint32_t v = 0;

	for (size_t i = 0; i < 4; i++) {
		int digit = i < 4 - pads ? value_of(from[i]) : 0;
		if (digit < 0)
			return false;
		v = v << 6 | (uint32_t)digit;
	}
	for (size_t i = 0; i < 3 - pads; i++)
		to[i] = (uint8_t)(v >> (16 - 8 * i));
	return (v & ((1u << 8 * pads) - 1)) == 0;
}

static size_t count_pads(const char *from, size_t len)
{
	if (len == 0 || from[len - 1] != '=')
		return 0;
	return from[len - 2] == '=' ? 2 : 1;
}

bool base64_decode(const char *from, size_t len, uint8_t *to, size_t *ret_len)
{
	size_t pads, out = 0;

	if (len % 4 != 0)
		return false;
	pads = count_pads(from, len);
	for (size_t i = 0; i < len; i += 4) {
		size_t cut = i + 4 == len ? pads : 0;
		if (!decode_group(from + i, cut, to + out))
			return false;
		out += 3 - cut;
	}
	*ret_len = out;
	return true;
}
