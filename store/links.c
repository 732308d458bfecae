#include "store/links.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "base/path_walk.h"

/* A walk along a path, from the host's root. */
struct walk {
	char *at;	    /* owned: the path that has been walked so far, without links;
			     * "" is the root */
	bool is_text;	    /* the path so far is no existing folder, so the rest of the
			     * path is only text */
	struct list *links; /* borrowed: receives the links on the way; may be NULL */
	struct path_walk names;
};

static char *name_in(const struct walk *w, const char *name)
{
	return text_format("%s/%s", w->at, name);
}

static int go_to(struct walk *w, const char *path)
{
	free(w->at);
	w->at = text_copy(path);
	return PATH_WALK_ON;
}

static int go_root(void *context)
{
	return go_to(context, "");
}

static int go_up(struct walk *w)
{
	char *slash = strrchr(w->at, '/');

	if (slash)
		*slash = '\0';
	return PATH_WALK_ON;
}

/* Walks one name of the path.  Beyond the limit of links, a link is taken as a plain
 * name, so that a loop of links ends. */
static int enter(void *context, const char *name, bool is_last)
{
	struct walk *w = context;
	struct stat st;

	(void)is_last;
	if (!strcmp(name, "."))
		return PATH_WALK_ON;
	if (!strcmp(name, ".."))
		return go_up(w);
	AUTO_FREE char *path = name_in(w, name);
	const mode_t mode = w->is_text || lstat(path, &st) < 0 ? 0 : st.st_mode;
	if (S_ISLNK(mode) && w->names.links < PATH_WALK_LINKS_MAX)
		return PATH_WALK_LINK;
	w->is_text = !S_ISDIR(mode);
	return go_to(w, path);
}

static int read_link(void *context, const char *name, char *to)
{
	struct walk *w = context;
	AUTO_FREE char *path = name_in(w, name);
	const ssize_t len = readlink(path, to, PATH_MAX - 1);

	if (len <= 0) { /* the link was removed meanwhile */
		w->is_text = true;
		(void)go_to(w, path);
		return PATH_WALK_LINK;
	}
	to[len] = '\0';
	if (w->links)
		list_add(w->links, path);
	return 0;
}

/* Tells whether the path exists and has no link, with one look-up by the kernel. */
static bool is_real(const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS };
	AUTO_CLOSE int fd = path_is_plain(path) ? sys_openat2(AT_FDCWD, path, &how) : -1;

	return fd >= 0;
}

char *links_follow(const char *path, struct list *ret)
{
	if (is_real(path))
		return text_copy(path);
	static const struct path_tree host = { enter, read_link, go_root };
	struct walk w = { .at = text_copy(""),
			  .links = ret,
			  .names = { .tree = &host, .context = &w } };

	(void)path_walk(&w.names, path); /* the result says nothing: no callback ends
					  * the walk early */
	if (!*w.at)
		(void)go_to(&w, "/");
	return w.at;
}
