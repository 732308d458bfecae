#include "base/hex.h"

#include <stdint.h>
#include <sys/random.h>

#include "base/err.h"

void hex_encode(const void *bytes, size_t len, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *at = bytes;

	for (; len > 0; len--, at++) {
		*ret++ = digits[*at >> 4];
		*ret++ = digits[*at & 15];
	}
	*ret = '\0';
}

int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

int hex_random(char *ret, size_t count, struct err *e)
{
	uint8_t random[HEX_RANDOM_MAX / 2];

	/* getrandom(2) returns up to 256 bytes completely or not at all, so any other
	 * result is an error. */
	if (getrandom(random, count / 2, 0) != (ssize_t)(count / 2))
		return err_sys(e, "getrandom");
	hex_encode(random, count / 2, ret);
	return 0;
}
