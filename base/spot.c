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

#define LINKS_MAX 40 /* as the kernel's (path_resolution(7)) */
#define NAMES_MAX 4096 /* the kernel has no such bound, but is quicker */
#define PROC_ROOT 1  /* the inode number of a procfs' root */

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
	const int is = ++w->links > LINKS_MAX ? -ELOOP : w->read_link(w->who, dir, name, to);

	w->has_magic = w->has_magic || is == SPOT_MAGIC;
	return is;
}

/* --- folders ------------------------------------------------------------------------ */

struct walk {
	int at;		     /* owned */
	char rest[PATH_MAX]; /* of the path */
};

/* Makes `fd` the current folder; `rest`, which may be a part of k->rest, is to be
 * looked up from there. */
static int go_on(struct walk *k, int fd, const char *rest)
{
	if (fd < 0)
		return -errno;
	own_close(&k->at);
	k->at = fd;
	(void)memmove(k->rest, rest, strlen(rest) + 1);
	return 0;
}

static int follow(struct spot_search *w, struct walk *k, const char *name, const char *rest)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char text[PATH_MAX], whole[PATH_MAX];
	const int is = read_link(w, k->at, name, text);

	if (is < 0)
		return is;
	if (is == SPOT_MAGIC)
		return go_on(k, openat(k->at, name, flags), rest);
	if (snprintf(whole, sizeof(whole), "%s/%s", text, rest) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	return go_on(k, openat(k->at, *text == '/' ? "/" : ".", flags), whole);
}

static int step(struct spot_search *w, struct walk *k)
{
	char *name = k->rest + strspn(k->rest, "/"), *rest = name + strcspn(name, "/");
	struct stat st;

	if (*rest)
		*rest++ = '\0';
	if (++w->names > NAMES_MAX)
		return -ELOOP;
	AUTO_CLOSE int fd = openat(k->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return follow(w, k, name, rest);
	return S_ISDIR(st.st_mode) ? go_on(k, fd_take(&fd), rest) : -ENOTDIR;
}

static int walk(struct spot_search *w, int base, const char *path)
{
	struct walk k = { .at = -1 };
	const bool is_absolute = *path == '/';
	int error = go_on(&k, is_absolute ? openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC)
					  : openat(base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC),
			  path);

	while (!error && k.rest[strspn(k.rest, "/")])
		error = step(w, &k);
	if (!error)
		return k.at;
	own_close(&k.at);
	return error;
}

/* Leaves the lookup to the kernel, unless there is a link on the way or no
 * openat2(2). */
static int enter(struct spot_search *w, int base, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS };
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
	(void)snprintf(above, sizeof(above), "%.*s", (int)(is_itself ? len : start), path); /* fits */
	const int dir = enter(w, base, *above ? above : ".");
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
	const int is = read_link(w, s->dir, s->name, text);

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
