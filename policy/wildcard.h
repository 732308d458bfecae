/* wildcard -- patterns for a name or a word: "*" matches any number of characters and
 * "?" exactly one.  All other characters match themselves, also brackets and
 * backslashes, since names of files and words of commands contain them.
 * policy/protect.h applies such patterns to each name of a path. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Returns whether the name matches the pattern.  The time is at most proportional to
 * the product of the lengths. */
bool wildcard_matches(const char *pattern, size_t pattern_len, const char *name,
		      size_t len);
