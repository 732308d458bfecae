/* json_scan -- is this text JSON that every reader understands alike?
 *
 * The half of json that looks at bytes; what it refuses is listed in policy/json.h,
 * equal keys excepted, which json finds in the tree. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define JSON_NUMBER_MAX 64 /* room for the longest number that passes, and a NUL */

/* 0, and how many values there are, or an error that names line and column (both from
 * 1, columns in bytes). */
int json_scan(const char *text, size_t len, size_t *ret_values, struct err *e);

/* A number that passed, ended by a NUL.  Not strtod(3): in a program that has called
 * setlocale(3), as one with libhutch may, that may want a comma for the point. */
double json_scan_number(const char *digits);

/* What may stand between values; asked of most bytes outside of strings. */
static inline bool json_is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
