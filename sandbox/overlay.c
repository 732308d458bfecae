#include "sandbox/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/fs.h"
#include "sandbox/plan.h"

#define IMAGE "image"
#define DISK  "disk"
#define ROOT  "root"

/* Below the folder that holds both layers, which must be on one mount. */
#define UPPER "/upper"
#define WORK  "/work"

static int make_folders(struct err *e)
{
	static const char *const names[] = { IMAGE, DISK, ROOT, DISK UPPER, DISK WORK };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (mkdir(names[i], 0755) < 0)
			return err_sys(e, "make a folder for the overlay");
	return 0;
}

static int bind_image(const struct step *s, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int mount = fs_clone(AT_FDCWD, s->source, true, e);
	if (mount < 0 || fstat(mount, &st) < 0)
		return err_in(e, "open the image");
	if (st.st_dev != s->dev || st.st_ino != s->ino)
		return err_set(e, ERR_REFUSED, "the image %.300s was replaced while the "
					       "sandbox was being made", s->source);
	if (fs_set_attr(mount, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true,
			s->source, e) < 0)
		return -1;
	if (sys_move_mount(mount, "", AT_FDCWD, IMAGE, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the image %.300s", s->source);
	return 0;
}

/* A folder on disk over the one of the tmpfs. */
static int bind_disk(const struct step *s, struct err *e)
{
	AUTO_CLOSE int mount = fs_clone(AT_FDCWD, s->upper, false, e);

	if (mount < 0)
		return -1;
	if (fs_set_attr(mount, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false, s->upper, e) < 0)
		return -1;
	if (sys_move_mount(mount, "", AT_FDCWD, DISK, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount %.300s", s->upper);
	return 0;
}

/* mount(2) with names relative to the working directory: below 6.8 a string of
 * fsconfig(2) ends at 255 bytes, and no path of the host can then be cut or
 * hold a ':' or ',' that would be read as syntax. */
static int mount_overlay(struct err *e)
{
	static const char options[] = "lowerdir=" IMAGE ",upperdir=" DISK UPPER
				      ",workdir=" DISK WORK ",userxattr";

	if (sys_mount("overlay", ROOT, "overlay", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	(void)err_sys(e, "mount the overlay");
	if (e->sys == ENODEV)
		return err_remedy(e, "as root: modprobe overlay, where this kernel has that "
				     "module; else add --read-only");
	if (e->sys == EPERM)
		return err_remedy(e, "this kernel has no overlayfs for user namespaces; add "
				     "--read-only");
	return -1;
}

int overlay_mount(const struct step *s, struct err *e)
{
	AUTO_FREE char *options = text_format("mode=0755,%s", s->data);

	AUTO_CLOSE int base = fs_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (base < 0)
		return -1;
	/* Over "/": our own root directory stays below it, so that the host's
	 * paths are still found. */
	if (sys_move_mount(base, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(base) < 0)
		return err_sys(e, "mount a tmpfs for the overlay");
	if (make_folders(e) < 0 || (s->upper && bind_disk(s, e) < 0) ||
	    bind_image(s, e) < 0 || mount_overlay(e) < 0)
		return -1;
	int root = open(ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? err_sys(e, "open the overlay") : root;
}
