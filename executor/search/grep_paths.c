#include "executor/search/grep_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool grep_paths_add(struct grep_paths *p, const char *path, size_t len)
{
	if (p->len + len + 1 > GREP_PATHS_MAX) {
		p->is_cut = true;
		return false;
	}
	if (p->len + len + 1 > p->room) {
		p->room = 2 * (p->len + len + 1);
		p->bytes = mem_resize(p->bytes, p->room, 1);
	}
	memcpy(p->bytes + p->len, path, len);
	p->bytes[p->len + len] = '\0';
	p->len += len + 1;
	p->count++;
	return true;
}

/* Compares two paths. A slash sorts before all other bytes, so that the files of a folder
 * stand together. */
static int compare(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	int x = *a == '/' ? 1 : (uint8_t)*a * 2, y = *b == '/' ? 1 : (uint8_t)*b * 2;
	return x - y;
}

static int by_path(const void *a, const void *b)
{
	return compare(*(char *const *)a, *(char *const *)b);
}

void grep_paths_sort(struct grep_paths *p)
{
	size_t n = 0;

	free(p->sorted);
	p->sorted = mem_new(p->count * sizeof(*p->sorted));
	for (char *at = p->bytes; n < p->count; at += strlen(at) + 1)
		p->sorted[n++] = at;
	if (n > 1)
		qsort(p->sorted, n, sizeof(*p->sorted), by_path);
}

void grep_paths_done(struct grep_paths *p)
{
	free(p->bytes);
	free(p->sorted);
	*p = (struct grep_paths){ 0 };
}
