#include "sandbox/root/cow_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/mounts_parts.h"

#define LOWER "lower"
#define DISK  "disk"
#define ROOT  "root"

/* Mounts a tmpfs with mount points over "/".  The process's own root directory stays
 * below that mount, so the host's paths are still found; the sandbox's new root is
 * reached by its descriptor. */
static int make_stage(struct err *e)
{
	static const char *const names[] = { LOWER, DISK, ROOT };

	AUTO_CLOSE int base = mount_api_make("tmpfs", "size=64k,mode=0755",
				      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (base < 0)
		return -1;
	if (sys_move_mount(base, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(base) < 0)
		return err_sys(e, "mount a tmpfs for the overlay");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (mkdir(names[i], 0755) < 0)
			return err_sys(e, "make a folder for the overlay");
	return fd_take(&base);
}

static int bind(const char *path, uint64_t attr, const char *at, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, path, true, e);

	if (mount < 0)
		return -1;
	if (mount_api_set_attr(mount, attr | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true,
			       path, e) < 0)
		return -1;
	if (sys_move_mount(mount, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount %.300s", path);
	return 0;
}

static int bind_lower(const struct step *s, struct err *e)
{
	return bind(s->source, MOUNT_ATTR_RDONLY, LOWER, e) < 0
		       ? -1
		       : mounts_check_same(AT_FDCWD, LOWER, s, e);
}

/* Uses mount(2) with names relative to the working directory, as for the root's
 * overlay (sandbox/root/overlay.c). */
static int mount_overlay(const struct step *s, struct err *e)
{
	static const char options[] = "lowerdir=" LOWER ",upperdir=" DISK
				      "/upper,workdir=" DISK "/work,userxattr";

	if (sys_mount("overlay", ROOT, "overlay", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	(void)err_sys(e, "mount %.300s copy-on-write", s->source);
	if (e->sys == ENODEV)
		return err_remedy(e,
				  "as root: modprobe overlay, where this kernel has that "
				  "module; else show it with :ro");
	if (e->sys == EPERM)
		return err_remedy(
			e, "this kernel has no overlayfs for user namespaces; show it "
			   "with :ro");
	if (e->sys == EINVAL)
		return err_remedy(
			e, "its file system can be no layer of an overlay, or others "
			   "are mounted in it; show it with :ro");
	return -1;
}

static int mount_staged(const struct step *s, struct err *e)
{
	if (bind_lower(s, e) < 0 || bind(s->upper, 0, DISK, e) < 0 ||
	    mount_overlay(s, e) < 0)
		return -1;
	return mount_api_clone(AT_FDCWD, ROOT, false, e);
}

int cow_mount(const struct step *s, struct err *e)
{
	AUTO_CLOSE int base = make_stage(e);

	if (base < 0)
		return -1;
	AUTO_CLOSE int mount = mount_staged(s, e);
	/* The tmpfs is not needed any more: the overlay holds its own references to
	 * the mounts in it. */
	if (sys_umount2(".", KERNEL_MNT_DETACH) < 0 && mount >= 0)
		return err_sys(e, "unmount a tmpfs");
	return fd_take(&mount);
}
