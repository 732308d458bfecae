#include "base/spot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"
#include "base/path_walk.h"

#define NAMES_MAX 4096 /* the most names that are looked up one by one for a path, to
			* bound the time; the kernel's own lookup has no such bound, but
			* is faster */
#define PROC_ROOT 1    /* the inode number of a procfs' root */
#define FOLDER	  (O_PATH | O_DIRECTORY | O_CLOEXEC)

_Static_assert(sizeof(((struct spot *)0)->name) == NAME_MAX + 2, "a name and its '/' fit");

void spot_done(struct spot *s)
{
	own_close(&s->dir);
}

bool spot_is_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

bool spot_is_proc_root(int fd)
{
	struct stat st;

	return spot_is_proc(fd) && fstat(fd, &st) == 0 && st.st_ino == PROC_ROOT;
}

int spot_read_link(int dir, const char *name, char *to)
{
	const ssize_t len = readlinkat(dir, name, to, PATH_MAX);

	if (len < 0 || len == PATH_MAX)
		return len < 0 ? -errno : -ENAMETOOLONG;
	to[len] = '\0';
	return len ? 0 : -ENOENT;
}

static int read_link(struct spot_search *w, int dir, const char *name, char *to)
{
	const int is = w->read_link(w->context, dir, name, to);

	w->has_magic = w->has_magic || is == SPOT_MAGIC;
	return is;
}

/* --- folders ------------------------------------------------------------------------ */

/* The state of a walk along a path. */
struct place {
	struct spot_search *search;
	int at; /* owned: the folder where the walk is */
};

static int move_to(struct place *p, int fd)
{
	if (fd < 0)
		return -errno;
	own_close(&p->at);
	p->at = fd;
	return 0;
}

static int enter(void *context, const char *name, bool is_last)
{
	struct place *p = context;
	struct stat st;

	(void)is_last;
	if (++p->search->names > NAMES_MAX)
		return -ELOOP;
	AUTO_CLOSE int fd = openat(p->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return PATH_WALK_LINK;
	return S_ISDIR(st.st_mode) ? move_to(p, fd_take(&fd)) : -ENOTDIR;
}

static int read_link_here(void *context, const char *name, char *to)
{
	struct place *p = context;
	const int is = read_link(p->search, p->at, name, to);

	if (is != SPOT_MAGIC)
		return is;
	const int error = move_to(p, openat(p->at, name, FOLDER));
	return error ? error : PATH_WALK_LINK;
}

static int go_root(void *context)
{
	return move_to(context, openat(AT_FDCWD, "/", FOLDER));
}

static const struct path_tree folders = { enter, read_link_here, go_root };

static int walk(struct spot_search *w, int base, const char *path)
{
	struct place p = { w, openat(*path == '/' ? AT_FDCWD : base, *path == '/' ? "/" : ".",
				     FOLDER) };
	struct path_walk k = { .tree = &folders,
			       .context = &p,
			       .rest_max = PATH_MAX - 1,
			       .links = w->links };
	const int error = p.at < 0 ? -errno : path_walk(&k, path);

	w->links = k.links;
	if (error)
		own_close(&p.at);
	return error ? error : p.at;
}

/* Finds the folder of a path.  The kernel does the whole lookup, unless a link is on
 * the way or there is no openat2(2): then the names are walked one by one. */
static int find_folder(struct spot_search *w, int base, const char *path)
{
	const struct open_how how = { .flags = FOLDER, .resolve = RESOLVE_NO_SYMLINKS };
	const int fd = sys_openat2(base, path, &how);

	if (fd < 0 && (errno == ELOOP || errno == ENOSYS))
		return walk(w, base, path);
	return fd < 0 ? -errno : fd;
}

/* --- the last name -------------------------------------------------------------------- */

static bool is_folder_itself(const char *name, size_t len)
{
	return len == 0 || (len <= 2 && !strncmp(name, "..", len));
}

int spot_find(struct spot_search *w, int base, const char *path, struct spot *ret)
{
	const size_t len = strlen(path);
	char above[PATH_MAX];
	size_t end = len, start;

	if (!len || len >= sizeof(above))
		return len ? -ENAMETOOLONG : -ENOENT;
	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (end - start > NAME_MAX)
		return -ENAMETOOLONG;
	const bool is_itself = is_folder_itself(path + start, end - start);
	/* If the part of the path before the last name ended in "/", path_walk()
	 * would look for "." in the folder, so slashes are cut off. */
	size_t above_len = is_itself ? len : start;
	while (!is_itself && above_len > 1 && path[above_len - 1] == '/')
		above_len--;
	(void)snprintf(above, sizeof(above), "%.*s", (int)above_len, path); /* fits */
	const int dir = find_folder(w, base, *above ? above : ".");
	if (dir < 0)
		return dir;
	*ret = (struct spot){ .dir = dir };
	if (!is_itself)
		(void)snprintf(ret->name, sizeof(ret->name), "%.*s%s", (int)(end - start),
			       path + start, end < len ? "/" : ""); /* fits */
	return 0;
}

int spot_follow(struct spot_search *w, struct spot *s)
{
	char text[PATH_MAX];
	struct spot next;
	const int is = ++w->links > PATH_WALK_LINKS_MAX ? -ELOOP
						       : read_link(w, s->dir, s->name, text);

	s->is_magic = is == SPOT_MAGIC;
	if (is)
		return is < 0 ? is : 0;
	const int error = spot_find(w, s->dir, text, &next);
	if (error)
		return error;
	spot_done(s);
	*s = next;
	return 0;
}
