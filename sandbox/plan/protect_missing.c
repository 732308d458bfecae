#include "sandbox/plan/protect_missing.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "policy/protect.h"
#include "sandbox/plan/plan.h"

struct protect_missing {
	const struct list *guarded; /* borrowed: folders of the host that are shown
				     * writable */
	struct protect *protect;
};

struct protect_missing *protect_missing_new(const struct plan *p)
{
	struct protect_missing *m = mem_zeroed(1, sizeof(*m));

	*m = (struct protect_missing){ &p->guarded, protect_new(p->protects) };
	return m;
}

void protect_missing_free(struct protect_missing *m)
{
	if (m)
		protect_free(m->protect);
	free(m);
}

const char *protect_missing_below(const char *path, const char *folder)
{
	const size_t len = strcmp(folder, "/") ? strlen(folder) : 0;

	if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* Returns whether a path with this relation to protected names must not be created.  A
 * path above protected names may only become an empty folder: a moved folder, or a link
 * to another one, could bring a file with a protected name at once. */
static bool is_refused(enum protected is, enum making what)
{
	switch (is) {
	case PROTECTED_NOT:
		return false;
	case PROTECTED_AMONG:
		return what == MAKING_TREE;
	case PROTECTED_ABOVE:
		return what != MAKING_FOLDER;
	case PROTECTED_YES:
		break;
	}
	return true;
}

bool protect_missing_refuses(const struct protect_missing *m, const char *path,
			     enum making what)
{
	for (size_t i = 0; i < m->guarded->count; i++) {
		const char *rest = protect_missing_below(path, m->guarded->items[i]);
		if (rest && *rest &&
		    is_refused(protect_find(m->protect, rest + 1, NULL), what))
			return true;
	}
	return false;
}
