/* ansi_c -- what stands between $' and ' for bash (bash(1), QUOTING). */
#pragma once
#include <stddef.h>

#define ANSI_C_MAX 4 /* bytes that one of them may be */

/* The next of them, at *at < end, which moves on: how many bytes it is, in `ret`.  \uXXXX
 * is UTF-8.  0: a byte 0, where for bash all of it ends. */
size_t ansi_c_next(const char **at, const char *end, char ret[ANSI_C_MAX]);
