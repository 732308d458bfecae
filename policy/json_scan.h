/* json_scan -- is this text JSON that every reader understands alike?
 *
 * The half of json that looks at bytes; what it refuses is listed in policy/json.h,
 * equal keys excepted, which json finds in the parsed tree. */
#pragma once
#include <stddef.h>

struct err;

/* 0, or an error that names line and column (both from 1, columns in bytes). */
int json_scan(const char *text, size_t len, struct err *e);
