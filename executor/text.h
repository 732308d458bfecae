/* text -- what a program prints, as it comes, made valid. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies valid UTF-8 into `to`, which has room for 3 * len bytes, U+FFFD for
 * what is not; returns how much that is.  *ret_used: a character that is cut
 * by the end is left for the next time, unless `is_end`. */
size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used);
