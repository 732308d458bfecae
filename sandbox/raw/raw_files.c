#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/raw/raw_parts.h"
#include "sandbox/raw/raw_plan.h"

#define COPY_LEN 65536

int raw_copy(int from, int to, const struct raw_step *s, struct err *e)
{
	char piece[COPY_LEN];
	ssize_t n;

	while ((n = io_read_full(from, piece, sizeof(piece))) > 0)
		if (io_write_all(to, piece, (size_t)n) < 0)
			return err_sys(e, "write the content of %.300s", s->target);
	return n < 0 ? err_sys(e, "read the content of %.300s", s->target) : 0;
}

int raw_do_dir(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	return mount_target_make(&t->targets, s->target, true, s->mode, &at, e);
}

/* Opens the target for writing.  A link at its end is followed, below the root. */
static int open_for_write(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, false, s->mode, &at, e) < 0)
		return -1;
	const struct raw_fd_path old = raw_fd_path(at.fd);
	int fd = at.fd < 0 ? openat(at.dir, at.name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
			   : open(old.text, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "write %.300s", s->target) : fd;
}

int raw_do_file(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int fd = open_for_write(t, s, e);

	return fd < 0 ? -1 : raw_copy(s->fd, fd, s, e);
}

/* Tells why a link cannot be made where a file is; a link to the same place will do. */
static int compare_link(int parent, const char *name, const struct raw_step *s,
			struct err *e)
{
	char old[PATH_MAX];
	const ssize_t len = readlinkat(parent, name, old, sizeof(old) - 1);

	if (len < 0 && errno == EINVAL)
		return err_set(
			e, ERR_EXISTS,
			"make the link %.300s: destination exists and is not a symlink",
			s->target);
	if (len < 0)
		return err_sys(e, "read the link %.300s", s->target);
	old[len] = '\0';
	if (!strcmp(old, s->source))
		return 0;
	return err_set(e, ERR_EXISTS,
		       "make the link %.300s: existing destination is %.300s", s->target,
		       old);
}

int raw_do_symlink(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	const char *name;
	int parent = mount_target_parent(&t->targets, s->target, &name, e);

	if (parent < 0)
		return -1;
	if (symlinkat(s->source, parent, name) == 0)
		return 0;
	return errno == EEXIST ? compare_link(parent, name, s, e)
			       : err_sys(e, "make the link %.300s", s->target);
}

int raw_do_chmod(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int fd = raw_target_open(t, s, e);

	if (fd < 0)
		return -1;
	/* fchmod(2) refuses an O_PATH descriptor */
	const struct raw_fd_path path = raw_fd_path(fd);
	return chmod(path.text, s->mode) < 0 ? err_sys(e, "chmod %.300s", s->target) : 0;
}

static int attach_device(struct raw_tree *t, int mount, const struct raw_step *s,
			 struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	return raw_target(t, s, false, &at, e) < 0 ? -1 : raw_attach(t, mount, &at, s, e);
}

/* Binds the host's file of the same path, if it is the device. */
static int bind_same(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, s->target, false, e);
	struct stat st;

	if (mount < 0)
		return -1;
	if (fstat(mount, &st) < 0)
		return err_sys(e, "stat %.300s", s->target);
	if (st.st_rdev != s->device || (st.st_mode & S_IFMT) != (s->mode & S_IFMT))
		return err_set(e, ERR_REFUSED, "it is another device");
	return attach_device(t, mount, s, e);
}

/* Shows the host's file: a user namespace refuses mknod(2), and devices on file systems that
 * it mounts do not open.  An error says first why there is no file of the caller's. */
static int bind_device(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	const char *why = s->refused == RAW_NO_OWNER
				  ? "the id maps have no host id for its owner"
				  : err_words(s->refused ? s->refused : EPERM);

	if (bind_same(t, s, e) == 0)
		return 0;
	return err_in(e, "make the device %.300s (%c %u:%u): %s; show the host's file",
		      s->target, S_ISBLK(s->mode) ? 'b' : 'c', major(s->device),
		      minor(s->device), why);
}

/* Sets owner and mode of the device file, since mknod(2) applies the umask.  Its folder may be
 * one in which another process puts a link in its place, so both calls go by a descriptor. */
static int dress_device(int parent, const char *name, const struct raw_step *s,
			struct err *e)
{
	AUTO_CLOSE int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const struct raw_fd_path path = raw_fd_path(fd);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %.300s inside", s->target);
	if ((st.st_mode & S_IFMT) != (s->mode & S_IFMT) ||
	    (!S_ISFIFO(st.st_mode) && st.st_rdev != s->device))
		return err_set(e, ERR_REFUSED,
			       "make the device %.300s: another file is there",
			       s->target);
	if (fchownat(fd, "", s->uid, s->gid, AT_EMPTY_PATH) < 0)
		return err_sys(e, "change the owner of %.300s", s->target);
	return chmod(path.text, s->mode & 07777) < 0
		       ? err_sys(e, "chmod %.300s", s->target)
		       : 0;
}

int raw_do_device(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	const char *name;

	if (s->fd >= 0)
		return attach_device(t, s->fd, s, e);
	int parent = mount_target_parent(&t->targets, s->target, &name, e);
	if (parent < 0)
		return -1;
	/* A root without a mount at /dev has the files of the container before. */
	if (mknodat(parent, name, s->mode, s->device) < 0 && errno != EEXIST)
		return errno == EPERM ? bind_device(t, s, e)
				      : err_sys(e, "make the device %.300s", s->target);
	return dress_device(parent, name, s, e);
}
