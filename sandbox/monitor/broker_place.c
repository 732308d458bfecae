#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/monitor/broker_parts.h"

/* --- links ---------------------------------------------------------------------------- */

/* Writes the target of a procfs link such as "self", which stands for the
 * process that follows the link: here that must be the caller, not the broker. */
static bool tell_self(const struct job *j, int dir, const char *name, char *to)
{
	if (!spot_is_proc_root(dir))
		return false;
	if (!strcmp(name, "self"))
		(void)snprintf(to, PATH_MAX, "%d", j->process); /* the buffer is large
								 * enough */
	else if (!strcmp(name, "thread-self"))
		(void)snprintf(to, PATH_MAX, "%d/task/%d", j->process,
			       j->thread); /* the buffer is large enough */
	else
		return false;
	return true;
}

static bool is_magic(int dir, const char *name)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_NO_MAGICLINKS };
	AUTO_CLOSE int fd = sys_openat2(dir, name, &how);

	return fd < 0 && errno == ELOOP;
}

/* Returns whether a link must not be followed, by the kernel's rule with
 * fs.protected_symlinks (proc(5)): in a folder where all may write, only the
 * caller's own links are followed.  The kernel also follows links of the
 * folder's owner, who cannot be told here, since all unmapped ids look the
 * same. */
static bool is_planted(const struct job *j, int dir, const struct stat *link)
{
	const mode_t open_to_all = S_ISVTX | S_IWOTH;
	struct stat st;

	if (fstat(dir, &st) < 0)
		return true;
	return (st.st_mode & open_to_all) == open_to_all && link->st_uid != j->work->uid;
}

int job_read_link(void *context, int dir, const char *name, char *to)
{
	const struct job *j = context;
	AUTO_CLOSE int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (is_planted(j, dir, &st)) /* layer: planted-links */
		return -EACCES;
	if (spot_is_proc(fd) && tell_self(j, dir, name, to))
		return 0;
	if (spot_is_proc(fd) && is_magic(dir, name))
		return SPOT_MAGIC;
	return spot_read_link(fd, "", to);
}

/* --- where it is, and whether it may be made ----------------------------------------------------------- */

void own_path(int fd, char *to)
{
	(void)snprintf(to, OWN_PATH_MAX, "self/fd/%d", fd); /* the buffer is large
							     * enough */
}

/* Reads the path of a descriptor of this process into `to`, which has PATH_MAX
 * bytes. */
static bool read_own(const struct broker_work *w, int fd, char *to)
{
	char name[OWN_PATH_MAX];

	own_path(fd, name);
	const ssize_t len = readlinkat(w->proc, name, to, PATH_MAX - 1);
	to[len > 0 ? len : 0] = '\0';
	return *to == '/';
}

bool spot_look(int fd, struct statx *ret)
{
	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, ret) ==
		       0 &&
	       (ret->stx_mask & STATX_MNT_ID);
}

static bool is_own_mount(const struct broker_work *w, uint64_t mount)
{
	for (size_t i = 0; i < w->mount_count; i++)
		if (w->mounts[i] == mount)
			return true;
	return false;
}

/* Returns whether the path leads to this file, and not to another file of that
 * name. */
static bool leads_to(const char *path, const struct statx *is)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct statx st;

	return fd >= 0 && spot_look(fd, &st) && st.stx_mnt_id == is->stx_mnt_id &&
	       st.stx_ino == is->stx_ino;
}

static bool is_handed(const struct broker_work *w, const struct statx *is)
{
	for (size_t i = 0; i < ARRAY_LEN(w->handed); i++)
		if (w->handed[i].stx_ino == is->stx_ino &&
		    w->handed[i].stx_mnt_id == is->stx_mnt_id)
			return true;
	return false;
}

/* Returns whether the caller may open the file by Landlock's rules.  Landlock lets
 * the caller open only files below the root and files that were handed to it
 * (landlock_root.h).  The broker is not bound by Landlock, and therefore checks the
 * same rules. */
bool place_is_open(const struct job *j, int fd)
{
	const struct broker_work *w = j->work;
	char path[PATH_MAX];
	struct statx is;

	if (!spot_look(fd, &is))
		return false;
	if (is_own_mount(w, is.stx_mnt_id) || is_handed(w, &is))
		return true;
	/* Landlock does not judge pipes, namespaces and other files that no path
	 * leads to (landlock(7)).  The text of their link in /proc is "pipe:[N]" or
	 * the like, without a '/' at its beginning. */
	return read_own(w, fd, path) ? leads_to(path, &is) : *path;
}

static char *join(const char *folder, const char *rest)
{
	return text_format("%s%s", strcmp(folder, "/") ? folder : "", rest);
}

/* Finds the host's path of a folder that is in a shown mount.  If the host has moved
 * the folder out of the mount, the folder has no path there, and the result is
 * -EACCES. */
static int find_shown(const struct broker_work *w, const struct shown *s,
		      const char *path, char **ret_host)
{
	char base[PATH_MAX];
	const char *rest = read_own(w, s->fd, base) ? protect_missing_below(path, base)
						    : NULL;

	*ret_host = rest ? join(s->source, rest) : NULL;
	return rest ? 0 : -EACCES;
}

/* Finds the host's path of a folder in a mount that lies in a shown mount and counts
 * as a part of it.  If the sandbox's root does not lead to the folder's mount, the
 * result is -EACCES: the path would belong to another mount. */
static int find_within(const struct broker_work *w, const struct statx *is,
		       const char *path, char **ret_host)
{
	const struct shown *found = NULL;
	char base[PATH_MAX];
	size_t longest = 0;

	if (!leads_to(path, is)) /* layer: missing-below-root */
		return -EACCES;
	for (size_t i = 0; i < w->shown_count; i++) {
		const struct shown *s = &w->shown[i];
		if (read_own(w, s->fd, base) && protect_missing_below(path, base) &&
		    strlen(base) >= longest) {
			longest = strlen(base);
			found = s;
		}
	}
	return found ? find_shown(w, found, path, ret_host) : 0;
}

/* Finds the path of a folder on the host, allocated; NULL: the folder is the
 * sandbox's own, not one of the host.  Returns 0 or a negative errno. */
static int find_on_host(const struct broker_work *w, int folder, char **ret_host)
{
	char path[PATH_MAX];
	struct statx is;

	*ret_host = NULL;
	if (!spot_look(folder, &is) || !read_own(w, folder, path))
		return -EACCES;
	/* If two mounts lie at one place, the later one is visible, so the last is
	 * tried first. */
	for (size_t i = w->shown_count; i-- > 0;)
		if (w->shown[i].mount == is.stx_mnt_id)
			return find_shown(w, &w->shown[i], path, ret_host);
	return is_own_mount(w, is.stx_mnt_id) ? 0 : find_within(w, &is, path, ret_host);
}

int spot_allows(const struct job *j, const struct spot *s, enum making what)
{
	AUTO_FREE char *folder = NULL;
	const int error = find_on_host(j->work, s->dir, &folder);

	if (error || !folder)
		return error;
	AUTO_FREE char *whole = text_format("%s/%.*s", strcmp(folder, "/") ? folder : "",
					    (int)strcspn(s->name, "/"), s->name);
	if (!protect_missing_refuses(j->work->protect_missing, whole, what))
		return 0;
	return -EROFS; /* layer: missing-names */
}
