#include "rootfs-tools/changes/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "rootfs-tools/changes/repository.h"

void chosen_add(struct chosen *c, const char *path)
{
	list_add(&c->paths, path);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void chosen_end(struct chosen *c)
{
	if (c->paths.count > 1)
		qsort(c->paths.items, c->paths.count, sizeof(*c->paths.items), by_bytes);
}

void chosen_done(struct chosen *c)
{
	list_done(&c->paths);
}

/* Returns the first path that does not sort before `path`, or NULL. */
static const char *find(const struct chosen *c, const char *path)
{
	size_t from = 0, to = c->paths.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (strcmp(c->paths.items[middle], path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < c->paths.count ? c->paths.items[from] : NULL;
}

static bool has_exactly(const struct chosen *c, const char *path)
{
	const char *found = find(c, path);

	return found && !strcmp(found, path);
}

bool chosen_has(const struct chosen *c, const char *path)
{
	const size_t len = repository_len(path);
	AUTO_FREE char *repository = text_format("%.*s", (int)len, path);

	return has_exactly(c, len ? repository : path);
}

bool chosen_is_above(const struct chosen *c, const char *folder)
{
	AUTO_FREE char *below = text_format("%s/", folder);
	const char *found = find(c, below);

	return found && path_below(found, folder);
}
