/* json_scan -- is this text JSON that every reader understands alike?
 *
 * The half of json that looks at bytes; what it refuses is listed in policy/json.h,
 * equal keys excepted, which json finds in the tree. */
#pragma once
#include <stddef.h>

struct err;

#define JSON_NUMBER_MAX 64 /* room for the longest number that passes, and a NUL */

/* 0, and how many values there are, or an error that names line and column (both from
 * 1, columns in bytes). */
int json_scan(const char *text, size_t len, size_t *ret_values, struct err *e);
