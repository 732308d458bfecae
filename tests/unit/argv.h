/* argv -- a line of a table becomes the words of a command line. */
#pragma once
#include <stddef.h>
#include <string.h>

#define ARGV_MAX 64

/* Splits a line at its blanks, in place.  A NULL stands behind the last word. */
static inline void argv_split(char *line, char *ret[ARGV_MAX])
{
	size_t count = 0;
	char *rest = line;

	for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
		if (*word && count < ARGV_MAX - 1)
			ret[count++] = word;
	ret[count] = NULL;
}
