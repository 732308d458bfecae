#include "sandbox/kernel/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"

/* The kernel allows a fresh procfs only where the existing one is wholly
 * visible, which a container's /proc with masks in it is not
 * (mount_too_revealing() in fs/namespace.c). */
static int explain(struct err *e)
{
	(void)err_set(
		e, ERR_REFUSED,
		"mount a fresh /proc: Operation not permitted: parts of this host's own "
		"/proc are masked, as in a container");
	return err_remedy(e,
			  "start the outer container with an unmasked /proc: docker run "
			  "--security-opt systempaths=unconfined; kubernetes procMount: "
			  "Unmasked; podman --security-opt unmask=ALL");
}

int procfs_make(const char *options, struct err *e)
{
	int mount = mount_api_make(
		"proc", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		e);

	if (mount >= 0 || errno != EPERM)
		return mount;
	/* If not even a tmpfs can be mounted, masks in /proc are not the cause. */
	AUTO_CLOSE int other = mount_api_make("tmpfs", "", 0, NULL);
	return other < 0 ? -1 : explain(e);
}

/* The inode of the root of every procfs (PROC_ROOT_INO, include/linux/proc_ns.h); a bind
 * mount of another folder of procfs has another. */
#define ROOT_INODE 1

int procfs_open_root(const char *path, struct err *e)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %s", path);
	return fs.f_type == PROC_SUPER_MAGIC && st.st_ino == ROOT_INODE
		       ? fd_take(&fd)
		       : err_set(e, ERR_REFUSED, "open %s: it is no root of a procfs",
				 path);
}

int procfs_open(int root, const char *path, int flags, struct err *e)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	const int fd = sys_openat2(root, path, &how);

	if (fd >= 0)
		return fd;
	if (errno == EXDEV || errno == ELOOP)
		return err_set(e, ERR_REFUSED,
			       "open %s of procfs: a mount or a link lies over it", path);
	return err_sys(e, "open %s of procfs", path);
}

int procfs_write(const char *path, const char *text, struct err *e)
{
	const ssize_t len = (ssize_t)strlen(text);
	AUTO_CLOSE int root = procfs_open_root("/proc", e);
	AUTO_CLOSE int fd = root < 0 ? -1 : procfs_open(root, path, O_WRONLY, e);

	if (fd < 0)
		return -1;
	/* Files of procfs take a value only as a whole. */
	return write(fd, text, (size_t)len) == len
		       ? 0
		       : err_sys(e, "write '%.60s' to /proc/%s", text, path);
}
