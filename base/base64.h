/* base64 -- bytes as text (RFC 4648, section 4: padded, no line ends).
 *
 * The reader is strict: what a writer of that section does not write is refused, so
 * that a text stands for one string of bytes and a string of bytes for one text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long the text of `len` bytes is. */
static inline size_t base64_length(size_t len)
{
	return (len / 3 + (len % 3 != 0)) * 4;
}

/* Writes that text, without a 0 behind it, and returns its length. */
size_t base64_encode(const void *from, size_t len, uint8_t *to);

/* Writes what `len` characters stand for, at most len / 4 * 3 bytes.  False: it is no
 * base64; what stands in `to` then is of no use. */
bool base64_decode(const char *from, size_t len, uint8_t *to, size_t *ret_len);
