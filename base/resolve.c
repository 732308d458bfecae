#include "base/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/spot.h"

static int read_no_link(void *context, int dir, const char *name, char *to)
{
	(void)context, (void)dir, (void)name, (void)to;
	return -ELOOP;
}

/* Reads the text of a link.  In a procfs the links in its root ("self") have a text
 * that can be followed; all others, such as those in /proc/PID/fd, may lead elsewhere
 * than their text says, and are refused. */
static int read_text_link(void *context, int dir, const char *name, char *to)
{
	(void)context;
	return spot_is_proc(dir) && !spot_is_proc_root(dir)
		       ? -ELOOP
		       : spot_read_link(dir, name, to);
}

static bool leaves(const char *path)
{
	if (*path == '/')
		return true;
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += strspn(at, "/");
		if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
			return true;
	}
	return false;
}

static bool is_link(const struct spot *s)
{
	struct stat st;

	return *s->name && fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(st.st_mode);
}

static int open_spot(const struct spot *s, const struct open_how *how)
{
	const int flags = (int)how->flags | O_NOFOLLOW;
	const int fd = openat(s->dir, *s->name ? s->name : ".", flags, (mode_t)how->mode);

	return fd < 0 ? -errno : fd;
}

static int open_by_hand(int folder, const char *path, const struct open_how *how)
{
	const bool follows = !(how->resolve & RESOLVE_NO_SYMLINKS);
	struct spot_search w = { .read_link = follows ? read_text_link : read_no_link };
	struct spot s = { .dir = -1 };
	int result = spot_find(&w, folder, path, &s);

	while (!result && is_link(&s) && !(how->flags & O_NOFOLLOW))
		result = spot_follow(&w, &s);
	if (!result)
		result = open_spot(&s, how);
	spot_done(&s);
	return result;
}

int resolve_open(int folder, const char *path, const struct open_how *how)
{
	int fd = sys_openat2(folder, path, how);

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	fd = how->resolve & RESOLVE_BENEATH && leaves(path)
		     ? -EXDEV
		     : open_by_hand(folder, path, how);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

int resolve_open_real(const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	const int fd = sys_openat2(AT_FDCWD, path, &how);

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	/* Without openat2(2), resolve_open() refuses links only below a folder. */
	how.resolve |= RESOLVE_BENEATH;
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -1 : resolve_open(root, path[1] ? path + 1 : ".", &how);
}

void resolve_folder_done(struct resolve_folder *kept)
{
	own_close(&kept->fd);
	own_free(&kept->path);
}

/* Opens the folder of the first `len` bytes of the path, unless it is kept already. */
static int keep_folder(struct resolve_folder *kept, const char *path, size_t len)
{
	if (kept->path && !strncmp(kept->path, path, len) && !kept->path[len])
		return 0;
	resolve_folder_done(kept);
	AUTO_FREE char *folder = text_format("%.*s", (int)len, path);
	kept->fd = resolve_open_real(folder, O_PATH | O_DIRECTORY);
	if (kept->fd < 0)
		return -1;
	kept->path = folder;
	folder = NULL;
	return 0;
}

int resolve_look_real(struct resolve_folder *kept, const char *path, struct stat *ret)
{
	const char *slash = strrchr(path, '/');

	if (*path != '/') {
		errno = EINVAL;
		return -1;
	}
	/* The folder of "/name" is "/", and "/" itself is looked at as "/.". */
	if (keep_folder(kept, path, slash == path ? 1 : (size_t)(slash - path)) < 0 ||
	    fstatat(kept->fd, slash[1] ? slash + 1 : ".", ret, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISLNK(ret->st_mode))
		return 0;
	errno = ELOOP;
	return -1;
}
