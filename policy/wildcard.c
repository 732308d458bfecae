#include "policy/wildcard.h"

#include <stdint.h>

#include "base/utf8.h"

/* Returns the length of a character; an invalid byte counts as one. */
static size_t char_len(const char *at, size_t left)
{
	size_t len = utf8_length(at, left);

	return len ? len : 1;
}

/* Matches a name.  After a mismatch, only the last "*" is extended by one more
 * character: extending an earlier one could not lead to more matches. */
bool wildcard_matches(const char *pattern, size_t pattern_len, const char *name,
		      size_t len)
{
	size_t p = 0, n = 0, star = SIZE_MAX, again = 0;

	while (n < len) {
		if (p < pattern_len && pattern[p] == '*') {
			star = p++;
			again = n;
		} else if (p < pattern_len && pattern[p] == '?') {
			p++;
			n += char_len(name + n, len - n);
		} else if (p < pattern_len && pattern[p] == name[n]) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = again += char_len(name + again, len - again);
		} else {
			return false;
		}
	}
	while (p < pattern_len && pattern[p] == '*')
		p++;
	return p == pattern_len;
}
