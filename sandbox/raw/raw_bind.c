#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/raw/raw_mounts.h"
#include "sandbox/raw/raw_parts.h"
#include "sandbox/raw/raw_plan.h"

/* <sys/mount.h> clashes with the kernel's header. */
#define KERNEL_MS_REC	  (1ul << 14)
#define KERNEL_MS_PRIVATE (1ul << 18)

#define DATA_NAME "data"

struct raw_fd_path raw_fd_path(int fd)
{
	struct raw_fd_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
	return path;
}

int raw_target(struct raw_tree *t, const struct raw_step *s, bool is_dir,
	       struct mount_target *ret, struct err *e)
{
	return mount_target_make(&t->targets, s->target, is_dir, is_dir ? 0755 : 0444,
				 ret, e);
}

int raw_target_open(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	return mount_target_open(&t->targets, s->target, e);
}

static int set_flags(int mount, const struct raw_step *s, bool is_tree,
		     struct mount_attr *attr, struct err *e)
{
	const unsigned flags = AT_EMPTY_PATH | (is_tree ? AT_RECURSIVE : 0);

	if (sys_mount_setattr(mount, "", flags, attr) == 0)
		return 0;
	return err_sys(e, "set mount flags of %.300s", s->source ? s->source : s->target);
}

int raw_dress(int mount, const struct raw_step *s, struct err *e)
{
	const unsigned long how = s->propagation ? s->propagation
						 : KERNEL_MS_PRIVATE | KERNEL_MS_REC;
	const bool is_spread = how & KERNEL_MS_REC;
	struct mount_attr tree = { .attr_set = s->tree_flags.set,
				   .attr_clr = s->tree_flags.clear,
				   .propagation = is_spread ? how & ~KERNEL_MS_REC : 0 };
	struct mount_attr top = { .attr_set = s->flags.set,
				  .attr_clr = s->flags.clear,
				  .propagation = is_spread ? 0 : how };

	if (s->userns >= 0) {
		struct mount_attr *attr = s->is_tree_mapped ? &tree : &top;
		attr->attr_set |= MOUNT_ATTR_IDMAP;
		attr->userns_fd = (uint64_t)s->userns;
	}
	if ((tree.attr_set || tree.attr_clr || tree.propagation) &&
	    set_flags(mount, s, true, &tree, e) < 0)
		return -1;
	if (!top.attr_set && !top.attr_clr && !top.propagation)
		return 0;
	return set_flags(mount, s, false, &top, e);
}

/* After a mount over the root, paths are to be resolved from the mount. */
static int become_root(struct raw_tree *t, int mount, struct err *e)
{
	const int root = fcntl(mount, F_DUPFD_CLOEXEC, 0);

	if (root < 0)
		return err_sys(e, "keep the new root");
	targets_done(&t->targets);
	own_close(&t->root);
	t->root = root;
	targets_init(&t->targets, root);
	return 0;
}

int raw_attach(struct raw_tree *t, int mount, const struct mount_target *at,
	       const struct raw_step *s, struct err *e)
{
	if (mount_api_attach(mount, at->dir, at->name, s->target, e) < 0)
		return -1;
	if (!strcmp(s->target, "/"))
		return become_root(t, mount, e);
	if (!*at->name)
		mount_target_forget(&t->targets);
	return 0;
}

int raw_clone_hosts(struct raw_tree *t, struct err *e)
{
	const struct raw_plan *p = t->plan;

	t->hosts = mem_zeroed(p->count + 1, sizeof(*t->hosts));
	for (size_t i = 0; i < p->count; i++)
		t->hosts[i] = -1;
	for (size_t i = 0; i < p->count; i++) {
		const struct raw_step *s = &p->steps[i];
		if (s->kind != RAW_BIND || !s->source || strcmp(s->source, "/"))
			continue;
		t->hosts[i] = mount_api_clone(AT_FDCWD, "/", s->is_tree, e);
		if (t->hosts[i] < 0)
			return -1;
	}
	return 0;
}

/* Clones the file of a descriptor.  The clone is made by the file's path, since the kernel
 * clones no mount of another mount namespace; then the two are compared, since another
 * process may have replaced the file. */
static int clone_descriptor(const struct raw_step *s, struct err *e)
{
	char path[PATH_MAX];
	struct stat is, was;
	const struct raw_fd_path link = raw_fd_path(s->fd);
	const ssize_t len = readlink(link.text, path, sizeof(path) - 1);

	if (len < 0)
		return err_sys(e, "find the path of descriptor %d", s->fd);
	path[len] = '\0';
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, path, s->is_tree, e);
	if (mount < 0)
		return -1;
	if (fstat(mount, &is) < 0 || fstat(s->fd, &was) < 0)
		return err_sys(e, "stat descriptor %d", s->fd);
	if (is.st_dev != was.st_dev || is.st_ino != was.st_ino)
		return err_set(e, ERR_REFUSED,
			       "bind descriptor %d: its path %.300s leads to "
			       "another file",
			       s->fd, path);
	return fd_take(&mount);
}

static int clone_source(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	int *host = &t->hosts[t->at];

	if (*host >= 0)
		return fd_take(host);
	if (s->is_detached)
		return fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	return s->fd >= 0 ? clone_descriptor(s, e)
			  : mount_api_clone(AT_FDCWD, s->source, s->is_tree, e);
}

static int bind_mount(struct raw_tree *t, int mount, const struct raw_step *s,
		      struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };
	struct stat st;

	if (fstat(mount, &st) < 0)
		return err_sys(e, "stat %.300s", s->source);
	if ((!s->is_detached && raw_dress(mount, s, e) < 0) ||
	    raw_target(t, s, S_ISDIR(st.st_mode), &at, e) < 0)
		return -1;
	return raw_attach(t, mount, &at, s, e);
}

int raw_mounts_detach(const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, s->source, s->is_tree, e);

	return mount < 0 || raw_dress(mount, s, e) < 0 ? -1 : fd_take(&mount);
}

int raw_do_bind(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	struct err why = { 0 };
	AUTO_CLOSE int mount = clone_source(t, s, &why);

	if (mount < 0 && s->may_be_absent && why.sys == ENOENT)
		return 0;
	if (mount < 0) {
		if (e)
			*e = why;
		return -1;
	}
	return bind_mount(t, mount, s, e);
}

/* Makes a file in the scratch tmpfs, and clones it. */
static int clone_data(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int fd = openat(t->scratch, DATA_NAME,
				   O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "make a file for %.300s", s->target);
	if (fchmod(fd, s->mode) < 0)
		return err_sys(e, "chmod the file for %.300s", s->target);
	if (raw_copy(s->fd, fd, s, e) < 0)
		return -1;
	return mount_api_clone(t->scratch, DATA_NAME, false, e);
}

/* The file's name is removed once the mount is attached, which keeps the file; the kernel
 * attaches no mount of a file that has no name. */
int raw_do_data(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int mount = clone_data(t, s, e);

	if (mount < 0 || bind_mount(t, mount, s, e) < 0)
		return -1;
	if (unlinkat(t->scratch, DATA_NAME, 0) < 0)
		return err_sys(e, "remove the name of the file for %.300s", s->target);
	return 0;
}

/* Changes the attached mount itself, in the one call that no process can come between. */
int raw_do_remount(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_CLOSE int fd = raw_target_open(t, s, e);
	struct mount_attr attr = { .attr_set = s->flags.set, .attr_clr = s->flags.clear };

	return fd < 0 ? -1 : set_flags(fd, s, false, &attr, e);
}

static int mount_over(struct raw_tree *t, int target, const struct raw_step *s,
		      struct err *e)
{
	const struct mount_target at = { .fd = -1, .dir = target, .name = "" };
	AUTO_CLOSE int mount = mount_api_clone(target, "", true, e);

	if (mount < 0)
		return -1;
	if (mount_api_set_attr(mount, MOUNT_ATTR_RDONLY, true, s->target, e) < 0)
		return -1;
	return raw_attach(t, mount, &at, s, e);
}

int raw_do_cover(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	struct err why = { 0 };
	AUTO_CLOSE int fd = raw_target_open(t, s, &why);

	if (fd < 0 && why.sys == ENOENT)
		return 0;
	if (fd < 0) {
		if (e)
			*e = why;
		return -1;
	}
	const struct raw_fd_path path = raw_fd_path(fd);
	if (s->is_always || access(path.text, W_OK) == 0)
		return mount_over(t, fd, s, e);
	if (errno == EACCES || errno == EROFS || errno == ENOENT)
		return 0;
	return err_sys(e, "look at %.300s", s->target);
}

static int make_mask(bool is_dir, struct err *e)
{
	const uint64_t flags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			       MOUNT_ATTR_NOEXEC;

	return is_dir ? mount_api_make("tmpfs", "size=0,mode=0755", flags, e)
		      : mount_api_clone(AT_FDCWD, "/dev/null", false, e);
}

int raw_do_mask(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	struct err why = { 0 };
	struct stat st;
	AUTO_CLOSE int fd = raw_target_open(t, s, &why);

	if (fd < 0 && (why.sys == ENOENT || why.sys == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (e)
			*e = why;
		return fd < 0 ? -1 : err_sys(e, "stat %.300s", s->target);
	}
	AUTO_CLOSE int mount = make_mask(S_ISDIR(st.st_mode), e);
	if (mount < 0)
		return -1;
	const struct mount_target at = { .fd = -1, .dir = fd, .name = "" };
	return raw_attach(t, mount, &at, s, e);
}
