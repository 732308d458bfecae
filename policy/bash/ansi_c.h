/* ansi_c -- decodes the text between $' and ' as bash does (bash(1), QUOTING). */
#pragma once
#include <stddef.h>

#define ANSI_C_MAX 4 /* the most bytes that one escape or character gives */

/* Decodes the next escape or character at *at < end, and moves *at behind it.
 * Returns how many bytes are in `ret`; \uXXXX gives UTF-8, as bash does in such a locale.
 * 0: an escape for a 0 byte, with which bash ends the text. */
size_t ansi_c_next(const char **at, const char *end, char ret[ANSI_C_MAX]);
