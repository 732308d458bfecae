/* Diffs of arbitrary texts.  However a diff was found, the old text has the
 * removed lines of each hunk at the place that the hunk names, and applying the
 * hunks gives the new text, except for white space at line ends.  The first
 * byte bounds the work; then come both texts, with a byte 0 between them. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/own.h"
#include "executor/edit/diff.h"

#define HEAD "--- /f\n+++ /f\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
	if (!is_so)
		abort();
}

/* The rest of a text, as lines; an empty text has one line. */
struct lines {
	const char *at, *end;
	bool is_over;
};

static struct lines lines_of(const void *data, size_t len)
{
	return (struct lines){ .at = data, .end = (const char *)data + len };
}

static struct bytes next_line(struct lines *l)
{
	const char *start = l->at, *stop;

	must(!l->is_over);
	stop = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;
	l->is_over = !stop;
	l->at = stop ? stop + 1 : l->end;
	return (struct bytes){ (const uint8_t *)start,
			       (size_t)((stop ? stop : l->end) - start) };
}

/* Removes the characters of Python's str.rstrip, as far as they are ASCII:
 * texts here have no others. */
static struct bytes stripped(struct bytes line)
{
	while (line.len > 0 && (isspace(line.data[line.len - 1]) ||
				(line.data[line.len - 1] >= 0x1c &&
				 line.data[line.len - 1] <= 0x1f)))
		line.len--;
	return line;
}

static bool is_same(struct bytes a, struct bytes b)
{
	a = stripped(a);
	b = stripped(b);
	return a.len == b.len && (a.len == 0 || !memcmp(a.data, b.data, a.len));
}

static unsigned number(const char **at)
{
	char *end;
	unsigned n = (unsigned)strtoul(*at, &end, 10);

	must(end > *at);
	*at = end;
	return n;
}

/* Reads "A" or "A,N": N lines from line A, or the place after it if N is 0. */
static unsigned range(const char **at, unsigned *ret_count)
{
	unsigned first = number(at);

	*ret_count = 1;
	if (**at == ',') {
		(*at)++;
		*ret_count = number(at);
	}
	return *ret_count ? first - 1 : first;
}

static void same_up_to(struct lines *old, struct lines *new, unsigned *old_at,
		       unsigned *new_at, unsigned old_to)
{
	for (; *old_at < old_to; (*old_at)++, (*new_at)++)
		must(is_same(next_line(old), next_line(new)));
}

static void marked(struct lines *diff, struct lines *text, char mark, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct bytes line = next_line(diff);

		must(line.len > 0 && line.data[0] == (uint8_t)mark);
		must(is_same((struct bytes){ line.data + 1, line.len - 1 },
			     next_line(text)));
	}
}

static void follow(struct lines diff, struct lines old, struct lines new)
{
	unsigned old_at = 0, new_at = 0, old_count, new_count;

	while (!diff.is_over) {
		const char *head = (const char *)next_line(&diff).data;

		must(!strncmp(head, "@@ -", 4));
		head += 4;
		unsigned old_to = range(&head, &old_count);
		must(!strncmp(head, " +", 2) && old_to >= old_at);
		head += 2;
		unsigned new_to = range(&head, &new_count);
		must(!strncmp(head, " @@", 3) && (old_count || new_count));
		same_up_to(&old, &new, &old_at, &new_at, old_to);
		must(new_at == new_to);
		marked(&diff, &old, '-', old_count);
		marked(&diff, &new, '+', new_count);
		old_at += old_count;
		new_at += new_count;
	}
	while (!old.is_over)
		must(is_same(next_line(&old), next_line(&new)));
	must(new.is_over);
}

static bool is_ascii(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] >= 0x80)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t steps = size && *data % 4 ? *data * 8u : DIFF_STEPS;
	struct buffer b;

	if (size < 2 || !is_ascii(data + 1, size - 1))
		return 0;
	const uint8_t *mid = memchr(data + 1, 0, size - 1);
	if (!mid || memchr(mid + 1, 0, (size_t)(data + size - mid - 1)))
		return 0;
	struct bytes old = { data + 1, (size_t)(mid - data - 1) };
	struct bytes new = { mid + 1, (size_t)(data + size - mid - 1) };
	buffer_init(&b, DIFF_MAX);
	diff_put_in(&b, "/f", old, new, steps);
	if (buffer_len(&b) == 0) {
		must(old.len == new.len &&
		     (!old.len || !memcmp(old.data, new.data, old.len)));
	} else {
		buffer_append(&b, "", 1);
		must(!strncmp((const char *)buffer_data(&b), HEAD, strlen(HEAD)));
		follow(lines_of(buffer_data(&b) + strlen(HEAD),
				buffer_len(&b) - 1 - strlen(HEAD)),
		       lines_of(old.data, old.len), lines_of(new.data, new.len));
	}
	buffer_done(&b);
	return 0;
}
