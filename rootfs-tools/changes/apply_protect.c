#include "rootfs-tools/changes/apply_protect.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/protect.h"
#include "rootfs-tools/changes/changes_walk.h"
#include "store/links.h"

/* --- where links lead ------------------------------------------------------------- */

static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path));
	return len > 0 && len < PATH_MAX ? text_format("%.*s", (int)len, path) : NULL;
}

static void add_place(struct apply_protect *g, const char *place, const char *pattern)
{
	list_add(&g->places, place);
	list_add(&g->names, pattern);
}

/* Adds `path` to the protected places if it is below `folder`. */
static void add_below(struct apply_protect *g, const char *folder, const char *path,
		      const char *pattern)
{
	const size_t len = strcmp(folder, "/") ? strlen(folder) : 0;

	if (!strncmp(path, folder, len) && path[len] == '/' && path[len + 1])
		add_place(g, path + len + 1, pattern);
}

/* Protects each link that the pattern's path goes through, and the final target,
 * whether or not the target exists. */
static void add_way(struct apply_protect *g, const char *folder, const char *pattern)
{
	AUTO_FREE char *path =
		text_format("%s/%s", folder, pattern + strspn(pattern, "/"));
	struct list links = { 0 };
	AUTO_FREE char *end = links_follow(path, &links);

	for (size_t i = 0; i < links.count; i++)
		add_below(g, folder, links.items[i], pattern);
	add_below(g, folder, end, pattern);
	list_done(&links);
}

int apply_protect_begin(struct apply_protect *g, const struct list *patterns, int dir,
			struct err *e)
{
	*g = (struct apply_protect){ 0 };
	if (!patterns || !patterns->count)
		return 0;
	AUTO_FREE char *folder = path_of(dir);
	if (!folder)
		return err_sys(e, "find where the folder is");
	g->protect = protect_new(patterns);
	for (size_t i = 0; i < patterns->count; i++)
		if (!strpbrk(patterns->items[i], "*?"))
			add_way(g, folder, patterns->items[i]);
	return 0;
}

void apply_protect_done(struct apply_protect *g)
{
	protect_free(g->protect);
	list_done(&g->places);
	list_done(&g->names);
}

/* --- what a path is --------------------------------------------------------------- */

static enum protected find(const struct apply_protect *g, const char *path,
			   const char **ret)
{
	enum protected is = protect_find(g->protect, path, ret);

	for (size_t i = 0; i < g->places.count && is < PROTECTED_YES; i++) {
		const char *place = g->places.items[i];
		enum protected here = path_below(path, place)   ? PROTECTED_YES
				      : path_below(place, path) ? PROTECTED_ABOVE
							      : PROTECTED_NOT;
		if (here <= is)
			continue;
		is = here;
		*ret = g->names.items[i];
	}
	return is;
}

/* Returns whether the change only keeps a folder, makes a new one, or removes one. */
static bool keeps_folder(const struct meeting *m)
{
	if (m->exists && !S_ISDIR(m->host.st_mode))
		return false;
	if (m->exists && m->item && m->item->kind == CHANGES_STREAM_FOLDER &&
	    !m->is_on_way)
		return false; /* a new mode is no such change: the mode decides which
			       * users may write there */
	return !m->item || m->item->kind == CHANGES_STREAM_FOLDER ||
	       m->item->kind == CHANGES_STREAM_GONE;
}

char *apply_protect_why(const struct apply_protect *g, const struct meeting *m)
{
	const char *pattern;

	if (!g->protect)
		return NULL;
	switch (find(g, m->path, &pattern)) {
	case PROTECTED_YES:
		return text_format("is protected (%s)", pattern);
	case PROTECTED_ABOVE:
		return keeps_folder(m) ? NULL
		       : text_format("is above a protected path (%s)", pattern);
	case PROTECTED_AMONG:
		return !m->item || m->item->kind != CHANGES_STREAM_LINK ? NULL
		       : text_format("is a link in the place of a folder that may hold "
				     "protected paths (%s)",
				     pattern);
	case PROTECTED_NOT:
		break;
	}
	return NULL;
}

bool apply_protect_has(const struct apply_protect *g, const char *folder,
		       const char *rest)
{
	const char *pattern;

	if (!g->protect)
		return false;
	AUTO_FREE char *path = text_format("%s/%s", folder, rest);
	return find(g, path, &pattern) == PROTECTED_YES;
}
