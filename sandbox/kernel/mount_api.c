#include "sandbox/kernel/mount_api.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"

/* Sets one option of a file system, "key=value" or "key".  The "=" in `option` is
 * overwritten by a 0. */
static int configure(int fs, char *option, struct err *e)
{
	char *value = strchr(option, '=');

	if (value)
		*value++ = '\0';
	if (sys_fsconfig(fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, option,
			 value) < 0)
		return err_sys(e, "set mount option %s=%s", option, value ? value : "");
	return 0;
}

int mount_api_make(const char *type, const char *options, uint64_t attr, struct err *e)
{
	AUTO_FREE char *copy = text_copy(options);
	char *rest = copy;

	AUTO_CLOSE int fs = sys_fsopen(type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return err_sys(e, "open file system %s", type);
	for (char *option; (option = strsep(&rest, ","));)
		if (*option && configure(fs, option, e) < 0)
			return -1;
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return err_sys(e, "make a %s", type);
	int mount = sys_fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attr);
	return mount < 0 ? err_sys(e, "mount a %s", type) : mount;
}

int mount_api_clone(int dir, const char *path, bool is_tree, struct err *e)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
			 (*path ? 0 : AT_EMPTY_PATH) | (is_tree ? AT_RECURSIVE : 0);
	int mount = sys_open_tree(dir, path, flags);

	return mount < 0 ? err_sys(e, "mount %.300s", *path ? path : "a clone") : mount;
}

static int set_attr(int dir, const char *name, unsigned flags, uint64_t attr)
{
	struct mount_attr set = { .attr_set = attr, .propagation = MS_PRIVATE };

	return sys_mount_setattr(dir, name, flags, &set);
}

int mount_api_set_attr(int mount, uint64_t attr, bool is_tree, const char *what,
		       struct err *e)
{
	const unsigned flags = AT_EMPTY_PATH | (is_tree ? AT_RECURSIVE : 0);

	if (set_attr(mount, "", flags, attr) < 0)
		return err_sys(e, "set mount flags of %.300s", what);
	return 0;
}

int mount_api_bind(const char *source, int dir, const char *name, struct err *e)
{
	if (fchdir(dir) < 0)
		return err_sys(e, "enter the folder of %.300s", name);
	return mount_api_bind_here(source, name, e);
}

int mount_api_bind_here(const char *source, const char *name, struct err *e)
{
	if (mount(source, name, NULL, MS_BIND | MS_REC, NULL) < 0)
		return err_sys(e, "mount %.300s", source);
	return 0;
}

int mount_api_set_attr_at(int dir, const char *name, uint64_t attr, const char *what,
			  struct err *e)
{
	if (set_attr(dir, name, AT_SYMLINK_NOFOLLOW | AT_RECURSIVE, attr) < 0)
		return err_sys(e, "set mount flags of %.300s", what);
	return 0;
}

int mount_api_clone_file(const char *path, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, path, false, e);

	if (mount < 0)
		return -1;
	if (mount_api_set_attr(mount,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			       false, path, e) < 0)
		return -1;
	return fd_take(&mount);
}

int mount_api_attach(int mount, int dir, const char *name, const char *where,
		     struct err *e)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*name ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	if (sys_move_mount(mount, "", dir, name, flags) < 0)
		return err_sys(e, "mount at %.300s", where);
	return 0;
}
