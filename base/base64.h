/* base64 -- bytes as text (RFC 4648, section 4: padded, no line ends).
 *
 * The decoder is strict: it refuses every text that an encoder of that section does
 * not write, so that each string of bytes has exactly one text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the text for `len` bytes. */
static inline size_t base64_length(size_t len)
{
	return (len / 3 + (len % 3 != 0)) * 4;
}

/* Writes the text for `len` bytes, without a 0 behind it, and returns its length. */
size_t base64_encode(const void *from, size_t len, uint8_t *to);

/* Decodes `len` characters into at most len / 4 * 3 bytes.  Returns false if they
 * are no base64; the content of `to` is undefined then.  `to` may be `from`: no byte
 * is written before its characters are read. */
bool base64_decode(const char *from, size_t len, uint8_t *to, size_t *ret_len);
