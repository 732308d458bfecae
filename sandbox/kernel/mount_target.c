#include "sandbox/kernel/mount_target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"

/* The depth at which make_dirs() stops making folders, which bounds its recursion;
 * no ordinary path is deeper. */
#define MAX_DEPTH 128

void targets_init(struct targets *t, int root)
{
	*t = (struct targets){ .root = root, .folder = -1, .changes = 1 };
}

void mount_target_forget(struct targets *t)
{
	own_close(&t->folder);
	own_free(&t->path);
	t->changes++;
}

void mount_target_done(struct mount_target *t)
{
	own_close(&t->fd);
}

void targets_done(struct targets *t)
{
	if (t)
		mount_target_forget(t);
}

/* `more` is 0, or O_NOFOLLOW, by which a link at the end is opened itself. */
static int open_in_root(int root, const char *path, uint64_t more)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | more,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	/* EAGAIN: a rename somewhere on the host raced with the kernel's handling of
	 * ".." (openat2(2)), so the path is opened once more. */
	do
		fd = sys_openat2(root, *path ? path : "/", &how);
	while (fd < 0 && errno == EAGAIN);
	return fd;
}

int mount_target_open(const struct targets *t, const char *path, struct err *e)
{
	int fd = open_in_root(t->root, path, 0);

	return fd < 0 ? err_sys(e, "open %.300s inside", path) : fd;
}

static int cannot_make(const char *what, const char *path, struct err *e)
{
	(void)err_sys(e, "make the %s %.300s inside", what, path);
	if (e->sys != EROFS && e->sys != EACCES)
		return -1;
	return err_remedy(e,
			  "mount at a place that exists in the image, or below a folder "
			  "that the sandbox may write to");
}

int mount_target_own(const struct targets *t, int parent, const char *name, struct err *e)
{
	if (!t->is_roots || fchownat(parent, name, 0, 0, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return err_sys(e, "give %.300s to root inside", name);
}

static int make_dirs(const struct targets *t, char *path, int depth, struct err *e);

/* Makes the last component of `path` below its parent, and opens it.  If the name is a
 * dangling link, mkdir gives EEXIST, and the open that follows fails: it follows the
 * link, but only inside the root. */
static int make_dir(const struct targets *t, char *path, int depth, struct err *e)
{
	char *slash = strrchr(path, '/');

	*slash = '\0';
	AUTO_CLOSE int parent = make_dirs(t, path, depth, e);
	*slash = '/';
	if (parent < 0)
		return -1;
	int made = mkdirat(parent, slash + 1, t->parent_mode ? t->parent_mode : 0755);
	if (made < 0 && errno != EEXIST)
		return cannot_make("folder", path, e);
	if (made == 0 && mount_target_own(t, parent, slash + 1, e) < 0)
		return -1;
	int fd = open_in_root(t->root, path, 0);
	return fd < 0 ? err_sys(e, "open %.300s inside", path) : fd;
}

static int make_dirs(const struct targets *t, char *path, int depth, struct err *e)
{
	int fd = open_in_root(t->root, path, 0);

	if (fd >= 0)
		return fd;
	if (errno != ENOENT || depth > MAX_DEPTH || !*path)
		return err_sys(e, "open %.300s inside", path);
	return make_dir(t, path, depth + 1, e);
}

int mount_target_parent(struct targets *t, const char *path, const char **ret_name,
		  struct err *e)
{
	const size_t len = (size_t)(strrchr(path, '/') - path);

	*ret_name = path + len + 1;
	if (!len)
		return t->root;
	if (t->path && !strncmp(t->path, path, len) && !t->path[len])
		return t->folder;
	AUTO_FREE char *folder = text_format("%.*s", (int)len, path);
	mount_target_forget(t);
	t->folder = make_dirs(t, folder, 0, e);
	if (t->folder < 0)
		return -1;
	t->path = folder;
	folder = NULL;
	return t->folder;
}

/* Makes a folder or an empty file.  The mount is then attached by name: a name that was
 * just made is no link, and if it is replaced by one, move_mount(2) does not follow a
 * link at the end of a path.  mount(2) does, so that it is only used where no other
 * process can replace the name (mount_api_bind()). */
static int make_last(int parent, const char *name, bool is_dir, mode_t mode)
{
	return is_dir ? mkdirat(parent, name, mode)
		      : mknodat(parent, name, S_IFREG | mode, 0);
}

static int check_type(int fd, const char *path, bool is_dir, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %.300s inside", path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, ERR_REFUSED,
			       "%.300s is a link inside, and no link is followed there",
			       path);
	if (!S_ISDIR(st.st_mode) != is_dir)
		return 0;
	return err_set(
		e, ERR_USAGE,
		is_dir ? "%.300s is a file inside, and a folder is to be mounted there"
		       : "%.300s is a folder inside, and a file is to be mounted there",
		path);
}

int mount_target_make(struct targets *t, const char *path, bool is_dir, mode_t mode,
		struct mount_target *ret, struct err *e)
{
	const char *name;
	int parent = mount_target_parent(t, path, &name, e);

	if (parent < 0)
		return -1;
	if (make_last(parent, name, is_dir, mode) == 0) {
		*ret = (struct mount_target){ .fd = -1, .dir = parent, .name = name };
		return mount_target_own(t, parent, name, e);
	}
	int made = errno;
	AUTO_CLOSE int fd =
		open_in_root(t->root, path, t->follows_no_link ? O_NOFOLLOW : 0);
	if (fd < 0 && made != EEXIST) {
		errno = made;
		return cannot_make(is_dir ? "folder" : "file", path, e);
	}
	if (fd < 0)
		return err_sys(e, "open %.300s inside", path);
	if (check_type(fd, path, is_dir, e) < 0)
		return -1;
	*ret = (struct mount_target){ .fd = fd, .dir = fd, .name = "" };
	fd = -1;
	return 0;
}
