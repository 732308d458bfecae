/* unified -- the differences of two texts in the form of `diff -u`.
 *
 * Myers' algorithm (An O(ND) Difference Algorithm, 1986) on lines, without the
 * common beginning and end.  Memory and time are bounded: texts that differ in
 * more than UNIFIED_EDITS lines are shown as one removed and one added. */
#pragma once
#include <stddef.h>

#define UNIFIED_EDITS 2000

/* Returns the hunks, with three lines around each, allocated; *ret_len is 0 if the
 * texts are equal. */
char *unified(const char *old, size_t old_len, const char *new, size_t new_len,
	      size_t *ret_len);
