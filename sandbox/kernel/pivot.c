#include "sandbox/kernel/pivot.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"

/* <sys/mount.h> clashes with the kernel's header. */
#define KERNEL_MS_SLAVE (1ul << 19)

#define ROOTS_MAX 64 /* the most mounts that uncover() takes off the new root */

/* Reads the number of the mount that `path` below `dir` leads to (statx(2), since 5.8).
 * Device and inode would not do: a new root may show the old root's own directory. */
static int mount_number(int dir, const char *path, uint64_t *ret, struct err *e)
{
	struct statx st;
	const int flags = *path ? 0 : AT_EMPTY_PATH;

	if (syscall(SYS_statx, dir, path, flags, STATX_MNT_ID, &st) < 0)
		return err_sys(e, "look at the new root");
	if (!(st.stx_mask & STATX_MNT_ID))
		return err_set(e, ERR_UNSUPPORTED,
			       "this kernel tells no mount's number (statx)");
	*ret = st.stx_mnt_id;
	return 0;
}

/* Tells whether another mount covers the root: "/.." is then the root of that mount. */
static int is_covered(int root, bool *ret, struct err *e)
{
	uint64_t own, above;

	if (mount_number(root, "", &own, e) < 0 ||
	    mount_number(AT_FDCWD, "/..", &above, e) < 0)
		return -1;
	*ret = own != above;
	return 0;
}

/* After pivot_root(".", ".") the old root lies over the new one, and over the old root
 * lies any other mount that was over "/", such as the tmpfs of an overlay.  umount(2)
 * takes off the topmost mount. */
static int uncover(int root, struct err *e)
{
	bool covered = true;

	for (int i = 0; i < ROOTS_MAX && covered; i++) {
		if (sys_umount2(".", KERNEL_MNT_DETACH) < 0) /* layer: old-root */
			return err_sys(e, "let go of the old root");
		if (is_covered(root, &covered, e) < 0)
			return -1;
	}
	return covered ? err_set(e, ERR_INTERNAL, "the old root is still in reach") : 0;
}

/* The old root becomes a slave only after pivot_root(2): before that the new root lies below
 * it, and would stop sharing mounts with the host, too. */
static int part(int old, struct err *e)
{
	struct mount_attr slave = { .propagation = KERNEL_MS_SLAVE };

	if (sys_mount_setattr(old, "", AT_EMPTY_PATH | AT_RECURSIVE, &slave) < 0)
		return err_sys(e, "part the old root's mounts from the host's");
	return 0;
}

/* With "." as both arguments of pivot_root(2) the old root ends up over the new one at the
 * same place, and is then taken off. */
int pivot_into(int root, bool is_shared, struct err *e)
{
	AUTO_CLOSE int old = is_shared ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (is_shared && old < 0)
		return err_sys(e, "open the old root");
	if (fchdir(root) < 0)
		return err_sys(e, "enter the new root");
	if (sys_pivot_root(".", ".") < 0)
		return err_sys(e, "pivot_root");
	if (is_shared && part(old, e) < 0)
		return -1;
	if (uncover(root, e) < 0)
		return -1;
	if (chdir("/") < 0)
		return err_sys(e, "enter the new root");
	return 0;
}
