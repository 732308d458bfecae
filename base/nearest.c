#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the distance of the two words: each row of the table has the distances of a
 * beginning of `a` to all beginnings of `b`. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NEAREST_MAX + 1];

	for (size_t i = 0; i <= a_len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];
		const size_t *above_that = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= b_len; k++) {
			if (i == 0) {
				row[k] = k;
				continue;
			}
			row[k] = least(least(above[k], row[k - 1]) + 1,
				       above[k - 1] + !is_same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
			    is_same(a[i - 2], b[k - 1]))
				row[k] = least(row[k], above_that[k - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void nearest_init(struct nearest *n, const char *word, size_t len)
{
	*n = (struct nearest){ .word = word, .len = len, .distance = len / 3 + 1 };
}

/* Returns whether the name begins as the word does, as --mem and --memory. */
static bool is_shortened(const struct nearest *n, const char *name)
{
	return n->len > 2 && !strncasecmp(n->word, name, n->len < 4 ? n->len : 4);
}

void nearest_try(struct nearest *n, const char *name)
{
	const size_t len = strlen(name);

	if (n->len > NEAREST_MAX || len > NEAREST_MAX)
		return;
	const size_t far = distance(n->word, n->len, name, len);
	if (far >= n->distance && (n->name[0] || !is_shortened(n, name)))
		return;
	n->distance = least(far, n->distance);
	memcpy(n->name, name, len + 1);
}

const char *nearest_name(const struct nearest *n)
{
	return n->name[0] ? n->name : NULL;
}

int nearest_suggest(const struct nearest *n, const char *before, struct err *e)
{
	const size_t len = strlen(e->text);

	if (n->name[0])
		(void)snprintf(e->text + len, sizeof(e->text) - len, "; is it %s%s?",
			       before, n->name); /* snprintf(3) cuts a longer text */
	return -1;
}
