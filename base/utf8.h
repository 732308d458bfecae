/* utf8 -- is this a character? (RFC 3629) */
#pragma once
#include <stddef.h>

/* How many bytes long the character at `at` is, of which `left` bytes are there;
 * 0 when there is none: overlong forms, surrogates, what is above U+10FFFF, a
 * part of a character. */
size_t utf8_length(const void *at, size_t left);
