#include "rootfs-tools/guarded.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/protect.h"
#include "rootfs-tools/ground.h"

/* As many as the kernel follows (path_resolution(7)). */
#define LINKS_MAX 40

/* --- where links lead ------------------------------------------------------------- */

static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path));
	return len > 0 && len < PATH_MAX ? text_format("%.*s", (int)len, path) : NULL;
}

static void add_place(struct guarded *g, const char *place, const char *pattern)
{
	list_add(&g->places, place);
	list_add(&g->names, pattern);
}

/* A path below the host's folder that is walked: what of it has been, through no link, and
 * what is to come. */
struct way {
	const char *folder; /* of the host's, absolute */
	char *done, *left;  /* owned; relative, without "." and ".." in the first */
};

static void set(char **place, char *text)
{
	free(*place);
	*place = text;
}

/* The next name; allocated.  NULL: there is none. */
static char *next_name(struct way *w)
{
	const char *name = w->left + strspn(w->left, "/");
	size_t len = strcspn(name, "/");

	if (!len)
		return NULL;
	char *ret = text_format("%.*s", (int)len, name);
	set(&w->left, text_copy(name + len));
	return ret;
}

/* False: it leads out of the folder. */
static bool go_up(struct way *w)
{
	char *slash = strrchr(w->done, '/');

	if (!*w->done)
		return false;
	*(slash ? slash : w->done) = '\0';
	return true;
}

/* False: it leads out of the folder. */
static bool follow(struct way *w, const char *target)
{
	const size_t len = strcmp(w->folder, "/") ? strlen(w->folder) : 0;

	if (*target == '/') {
		if (strncmp(target, w->folder, len) || (target[len] && target[len] != '/'))
			return false;
		set(&w->done, text_copy(""));
		target += len;
	}
	set(&w->left, text_format("%s/%s", target, w->left));
	return true;
}

/* Each link on the way, and where it ends, there or not. */
static void add_way(struct guarded *g, int dir, const char *folder, const char *pattern)
{
	struct way w = { folder, text_copy(""), text_copy(pattern) };
	bool is_inside = true;
	char *name;

	for (int links = 0; is_inside && links < LINKS_MAX && (name = next_name(&w)); free(name)) {
		char target[PATH_MAX];
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			is_inside = go_up(&w);
			continue;
		}
		AUTO_FREE char *path = text_format("%s%s%s", w.done, *w.done ? "/" : "", name);
		ssize_t len = readlinkat(dir, path, target, sizeof(target) - 1);
		if (len < 0) {
			set(&w.done, text_copy(path));
			continue;
		}
		target[len] = '\0';
		links++;
		add_place(g, path, pattern);
		is_inside = follow(&w, target);
	}
	if (is_inside && *w.done)
		add_place(g, w.done, pattern);
	free(w.done);
	free(w.left);
}

int guarded_begin(struct guarded *g, const struct list *patterns, int dir, struct err *e)
{
	*g = (struct guarded){ 0 };
	if (!patterns || !patterns->count)
		return 0;
	AUTO_FREE char *folder = path_of(dir);
	if (!folder)
		return err_sys(e, "find where the folder is");
	g->protect = protect_new(patterns);
	for (size_t i = 0; i < patterns->count; i++)
		if (!strpbrk(patterns->items[i], "*?"))
			add_way(g, dir, folder, patterns->items[i]);
	return 0;
}

void guarded_done(struct guarded *g)
{
	protect_free(g->protect);
	list_done(&g->places);
	list_done(&g->names);
}

/* --- what a path is --------------------------------------------------------------- */

static enum protected find(const struct guarded *g, const char *path, const char **ret)
{
	enum protected is = PROTECTED_NOT;

	if (g->protect)
		is = protect_find(g->protect, path, ret);
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

/* A folder that stays as it is, or is new, or is to be removed, if there is nothing in it. */
static bool keeps_folder(const struct meeting *m)
{
	if (m->exists && !S_ISDIR(m->host.st_mode))
		return false;
	if (m->exists && m->item && m->item->kind == TELL_FOLDER && !m->is_on_way)
		return false; /* its mode: who may write there */
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
