/* text -- converts a program's output to valid UTF-8, piece by piece as it arrives. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies text into `to`, which has room for 3 * len bytes, and replaces invalid bytes by
 * U+FFFD. Returns the length of the result. Sets *ret_used to how many bytes were read:
 * an incomplete character at the end is not read, so that the next call can get it again,
 * unless `is_end`. */
size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used);
