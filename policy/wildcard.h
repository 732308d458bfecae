/* wildcard -- patterns for a name or a word: "*" matches any characters, also none, and
 * "?" one.  Every other character stands for itself: names of files and words of commands
 * have brackets and backslashes in them.  policy/protect.h matches paths, name by name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Returns whether the name matches the pattern.  The time is at most proportional to
 * the product of the lengths. */
bool wildcard_matches(const char *pattern, size_t pattern_len, const char *name,
		      size_t len);
