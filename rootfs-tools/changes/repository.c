#include "rootfs-tools/changes/repository.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

void repositories_done(struct repositories *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->items[i].path);
		free(r->items[i].why);
	}
	free(r->items);
	*r = (struct repositories){ 0 };
}

size_t repository_len(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");

		if (len == strlen(REPOSITORY) && !strncmp(at, REPOSITORY, len))
			return (size_t)(at - path) + len;
		at += len;
		if (!*at)
			return 0;
	}
}

/* Compares `mine` with the first `len` bytes of `path`; the result is as of strcmp(3). */
static int compare(const char *mine, const char *path, size_t len)
{
	int order = strncmp(mine, path, len);

	return order || !mine[len] ? order : 1;
}

/* Returns the index of the first item that does not sort before the first `len` bytes
 * of `path`. */
static size_t place_of(const struct repositories *r, const char *path, size_t len)
{
	size_t from = 0, to = r->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (compare(r->items[middle].path, path, len) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct repository *repository_find(struct repositories *r, const char *path)
{
	size_t len = repository_len(path),
	       place = len ? place_of(r, path, len) : r->count;
	bool is_there = place < r->count && !compare(r->items[place].path, path, len);

	return is_there ? &r->items[place] : NULL;
}

void repository_break(struct repositories *r, const char *path, const char *why)
{
	size_t len = repository_len(path);

	if (!len || repository_find(r, path))
		return;
	if (r->count == r->room) {
		r->room = 2 * (r->room + 4);
		r->items = mem_resize(r->items, r->room, sizeof(*r->items));
	}
	size_t place = place_of(r, path, len);
	struct repository *at = &r->items[place];
	memmove(at + 1, at, (r->count++ - place) * sizeof(*at));
	*at = (struct repository){
		.path = text_format("%.*s", (int)len, path),
		.why = path[len] ? text_format("%s in it %s", path + len + 1, why)
				 : text_copy(why),
	};
}
