/* text -- makes a program's output valid UTF-8, piece by piece as the output arrives. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies text into `to`, which has room for 3 * len bytes; invalid bytes become U+FFFD.
 * Returns the length of the result. *ret_used is how many bytes were read: an incomplete
 * character at the end is left for the next call, unless `is_end`. */
size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used);
