/* json_scan -- checks that a text is JSON which every parser understands in the same
 * way.
 *
 * This module looks at the bytes of the text.  policy/json/json.h lists what is
 * refused; only equal keys are detected later, by json.c in the tree. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

enum json_type {
	JSON_NONE, /* there is no value */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

#define JSON_NUMBER_MAX 64 /* room for the longest number that is accepted, and a NUL */

/* Scans a text.  Returns 0 and the number of values, or an error that names line and
 * column (both from 1, columns in bytes). */
int json_scan(const char *text, size_t len, size_t *ret_values, struct err *e);
/* Like json_scan(), but accepts any integer that fits into 64 bits. */
int json_scan_wide(const char *text, size_t len, size_t *ret_values, struct err *e);

/* Returns the value of a number that was accepted, which must end with a NUL.
 * strtod(3) is not used, since it may expect a comma for the decimal point if the
 * program has called setlocale(3), as a program that uses libhutch may. */
double json_scan_number(const char *digits);

/* Returns the type of an accepted value, by its first byte. */
enum json_type json_type_of(char first);

/* Returns the length of the number, true, false or null at the start of `text`. */
size_t json_word_length(const char *text, size_t len);

/* Returns whether the byte is white space between values; inline, since most bytes
 * outside of strings are tested with it. */
static inline bool json_is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
