#include "rootfs-tools/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/protect.h"
#include "rootfs-tools/ground.h"

/* --- where links lead ------------------------------------------------------------------ */

static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path));
	return len > 0 && len < PATH_MAX ? text_format("%.*s", (int)len, path) : NULL;
}

/* As much of it as is there is followed; *rest moves back to what is not.  Allocated. */
static char *resolve(int dir, char *path, const char **rest)
{
	for (;;) {
		AUTO_CLOSE int fd = openat(dir, path, O_PATH | O_CLOEXEC);
		if (fd >= 0)
			return path_of(fd);
		char *slash = strrchr(path, '/');
		if (errno != ENOENT || !slash)
			return NULL;
		*rest -= strlen(slash);
		*slash = '\0';
	}
}

static void add_place(struct guarded *g, int dir, const char *folder, const char *pattern)
{
	const char *plain = pattern + strspn(pattern, "/");
	AUTO_FREE char *path = text_copy(plain);
	const char *rest = plain + strlen(plain);
	AUTO_FREE char *real = resolve(dir, path, &rest);
	const size_t len = strcmp(folder, "/") ? strlen(folder) : 0;

	if (!real || strncmp(real, folder, len) || real[len] != '/')
		return;
	AUTO_FREE char *place = text_format("%s%s", real + len + 1, rest);
	if (!strcmp(place, plain))
		return;
	list_add(&g->places, place);
	list_add(&g->names, pattern);
}

void guarded_begin(struct guarded *g, const struct list *patterns, int dir)
{
	AUTO_FREE char *folder = path_of(dir);

	*g = (struct guarded){ 0 };
	if (!patterns || !patterns->count)
		return;
	g->protect = protect_new(patterns);
	for (size_t i = 0; folder && i < patterns->count; i++)
		if (!strpbrk(patterns->items[i], "*?"))
			add_place(g, dir, folder, patterns->items[i]);
}

void guarded_done(struct guarded *g)
{
	protect_free(g->protect);
	list_done(&g->places);
	list_done(&g->names);
}

/* --- what a path is -------------------------------------------------------------------- */

static bool is_below(const char *path, const char *place)
{
	size_t len = strlen(place);

	return !strncmp(path, place, len) && (path[len] == '/' || !path[len]);
}

static enum protected find(const struct guarded *g, const char *path, const char **ret)
{
	enum protected is = PROTECTED_NOT;

	if (g->protect)
		is = protect_find(g->protect, path, ret);
	for (size_t i = 0; i < g->places.count && is < PROTECTED_YES; i++) {
		const char *place = g->places.items[i];
		if (!is_below(path, place) && !is_below(place, path))
			continue;
		is = is_below(path, place) ? PROTECTED_YES : PROTECTED_ABOVE;
		*ret = g->names.items[i];
	}
	return is;
}

/* A folder that stays one, or is new, or is to be removed, if there is nothing in it. */
static bool keeps_folder(const struct meeting *m)
{
	if (m->exists && !S_ISDIR(m->host.st_mode))
		return false;
	return !m->item || m->item->kind == TELL_FOLDER || m->item->kind == TELL_GONE;
}

char *guarded_why(const struct guarded *g, const struct meeting *m)
{
	const char *pattern = NULL;

	switch (find(g, m->path, &pattern)) {
	case PROTECTED_YES:
		return text_format("is protected (%s)", pattern);
	case PROTECTED_ABOVE:
		return keeps_folder(m) ? NULL
		       : text_format("leads to what is protected (%s)", pattern);
	case PROTECTED_AMONG:
		return !m->item || m->item->kind != TELL_LINK ? NULL
		       : text_format("is a link, where something may be that is protected (%s)",
				     pattern);
	case PROTECTED_NOT:
		break;
	}
	return NULL;
}

const char *guarded_by(const struct guarded *g, const char *path)
{
	const char *pattern = NULL;

	return find(g, path, &pattern) == PROTECTED_YES ? pattern : NULL;
}
