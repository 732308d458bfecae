#include "sandbox/root/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/plan/plan.h"

#define IMAGE "image"
#define OURS  "ours"
#define DISK  "disk"
#define ROOT  "root"

/* The upper and the work folder both lie in DISK, since overlayfs demands that
 * they are on one mount. */
#define UPPER "/upper"
#define WORK  "/work"

#define OPTIONS_MAX 4096 /* bytes of mount(2)'s options: one page, of the smallest size
			  * that exists */
#define LOWERS_MAX  499	 /* overlayfs' limit (OVL_MAX_STACK), less the layer OURS */

/* Mounts a tmpfs over "/" and makes it the working directory.  The process's
 * own root directory stays below that mount, so the host's paths are still
 * found. */
static int enter_base(const char *options, struct err *e)
{
	AUTO_CLOSE int base =
		mount_api_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);

	if (base < 0)
		return -1;
	if (sys_move_mount(base, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(base) < 0)
		return err_sys(e, "mount a tmpfs for the overlay");
	return fd_take(&base);
}

static int make_folders(struct err *e)
{
	static const char *const names[] = { IMAGE, OURS,	DISK,
					     ROOT,  DISK UPPER, DISK WORK };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (mkdir(names[i], 0755) < 0)
			return err_sys(e, "make a folder for the overlay");
	return 0;
}

static int bind_image(const struct step *s, struct err *e)
{
	struct stat st;

	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, s->source, true, e);
	if (mount < 0 || fstat(mount, &st) < 0)
		return err_in(e, "open the image");
	if (st.st_dev != s->dev || st.st_ino != s->ino)
		return err_set(e, ERR_REFUSED, "the image %.300s was replaced while the "
					       "sandbox was being made", s->source);
	if (mount_api_set_attr(mount,
			       MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			       true, s->source, e) < 0)
		return -1;
	if (sys_move_mount(mount, "", AT_FDCWD, IMAGE, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the image %.300s", s->source);
	return 0;
}

/* Mounts the folder on disk over the tmpfs' folder DISK.  Another sandbox may be able
 * to replace that folder, so it must still be the one that was locked, and symbolic
 * links in it are not followed. */
static int bind_disk(const struct step *s, struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			      MOUNT_ATTR_NOSYMFOLLOW; /* layer: upper-nosymfollow */
	struct stat st;

	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, s->upper, false, e);
	if (mount < 0)
		return -1;
	if (fstat(mount, &st) < 0)
		return err_sys(e, "stat %.300s", s->upper);
	/* layer: upper-inode */
	if (st.st_dev != s->upper_dev || st.st_ino != s->upper_ino)
		return err_set(e, ERR_REFUSED,
			       "%.300s was replaced while the sandbox was being "
			       "made",
			       s->upper);
	if (mount_api_set_attr(mount, attr, false, s->upper, e) < 0)
		return -1;
	if (sys_move_mount(mount, "", AT_FDCWD, DISK, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount %.300s", s->upper);
	return 0;
}

/* Gives each lower layer a short name, by a symbolic link: mount(2) takes one page of
 * options, and the digests in the paths of sixty layers fill it. */
static int link_lowers(const struct list *lowers, struct err *e)
{
	for (size_t i = 0; i < lowers->count; i++) {
		AUTO_FREE char *name = text_format("%zu", i);
		if (symlink(lowers->items[i], name) < 0)
			return err_sys(e, "name layer %zu of the image", i);
	}
	return 0;
}

/* Returns the value of the lowerdir option: `above` and then the names of the lower
 * layers, the topmost first. */
static char *list_lowers(const char *above, const struct list *lowers)
{
	char *names = text_copy(above);

	for (size_t i = lowers ? lowers->count : 0; i-- > 0;) {
		char *more = text_format("%s%s%zu", names, *names ? ":" : "", i);
		free(names);
		names = more;
	}
	return names;
}

static int too_many(struct err *e)
{
	return err_set(e, ERR_LIMIT,
		       "the image has more layers than can be mounted, which is %d",
		       LOWERS_MAX);
}

static int cannot_mount(const struct step *s, struct err *e)
{
	(void)err_sys(e, "mount the overlay");
	if (e->sys == ENODEV)
		return err_remedy(e,
				  "as root: modprobe overlay, where this kernel has that "
				  "module; else --image dir:PATH --read-only");
	if (e->sys == EPERM)
		return err_remedy(
			e, "this kernel has no overlayfs for user namespaces (5.11 and "
			   "newer have); without it: --image dir:PATH --read-only");
	if (e->sys == ENOENT && s->lowers)
		return err_remedy(e,
				  "a layer of the image is missing: hutch image verify");
	return -1;
}

/* Adds a remedy to the error: how overlayfs can be made to work. */
static int explain_none(struct err *e)
{
	if (e->sys == ENODEV)
		return err_remedy(e,
				  "as root: modprobe overlay, where this kernel has that "
				  "module");
	if (diagnose_is_filtered())
		return err_remedy(
			e, "a seccomp filter around this process may be the cause: in "
			   "docker, --security-opt seccomp=unconfined");
	return err_remedy(e, "a kernel that has it for user namespaces: 5.11 or newer");
}

/* Runs in a child, which tries to mount an overlayfs without options, so that
 * nothing can come of it: an overlayfs that may be used answers EINVAL.
 * MS_SILENT keeps the failure out of the kernel's log. */
static int try_inside(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result;
	if (sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 0; /* no mount at all can be made here, so overlayfs is not the
			   * cause */
	if (sys_mount("overlay", "/", "overlay", MS_SILENT, NULL) == 0)
		return 0;
	if (errno != ENODEV && errno != EPERM && errno != EACCES && errno != ENOSYS)
		return 0;
	return err_sys(e, "mount an overlay");
}

/* Returns whether overlayfs works for sure, so that no trial is needed, which would
 * take a sixth of a launch's time.  It does if the kernel has it, is new enough to
 * allow it in user namespaces, and no seccomp filter is around this process. */
static bool is_there(void)
{
	AUTO_FREE char *list = NULL;
	unsigned major = 0, minor = 0;
	struct utsname name;
	size_t len;

	if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2 ||
	    major < 5 || (major == 5 && minor < 11))
		return false;
	AUTO_CLOSE int fd = open("/proc/filesystems", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, "/proc/filesystems", 65536, &list, &len, NULL) < 0)
		return false;
	return strstr(list, "\toverlay\n") && !diagnose_is_filtered();
}

int overlay_try(struct err *e)
{
	const struct worker_task task = { .name = "a trial of overlayfs",
					  .work = try_inside,
					  .flags = CLONE_NEWUSER | CLONE_NEWNS };
	struct worker w;
	struct err why;

	/* A trial that could not be made, or that was killed, says nothing about
	 * overlayfs. */
	if (is_there() || worker_start(&task, &w, NULL) < 0 ||
	    worker_wait(&w, NULL, &why) == 0 || !why.sys)
		return 0;
	*e = why;
	return explain_none(e);
}

/* Mounts the overlay by mount(2), with names relative to the working
 * directory.  Below 6.8 a string of fsconfig(2) ends at 255 bytes; and since
 * no path of the host is among the options, none can be cut or hold a ':' or
 * ',' that would be read as syntax. */
static int mount_overlay(const struct step *s, struct err *e)
{
	AUTO_FREE char *lowers =
		list_lowers(s->source ? OURS ":" IMAGE : OURS, s->lowers);
	AUTO_FREE char *options = text_format("lowerdir=%s,upperdir=" DISK UPPER
					      ",workdir=" DISK WORK ",userxattr", lowers);

	if ((s->lowers && s->lowers->count > LOWERS_MAX) ||
	    strlen(options) >= OPTIONS_MAX)
		return too_many(e);
	if (sys_mount("overlay", ROOT, "overlay", MS_NOSUID | MS_NODEV, options) == 0)
		return 0;
	return cannot_mount(s, e);
}

int overlay_upper(struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			      MOUNT_ATTR_NOEXEC;
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, DISK UPPER, false, e);

	if (mount < 0 ||
	    mount_api_set_attr(mount, attr, false, "the upper folder", e) < 0)
		return -1;
	return fd_take(&mount);
}

int overlay_view(const struct list *lowers, struct err *e)
{
	AUTO_FREE char *names = list_lowers("", lowers);
	AUTO_FREE char *options = text_format("lowerdir=%s,userxattr", names);

	AUTO_CLOSE int base = enter_base("mode=0700", e);
	if (base < 0 || make_folders(e) < 0 || link_lowers(lowers, e) < 0)
		return -1;
	if (lowers->count > LOWERS_MAX || strlen(options) >= OPTIONS_MAX)
		return too_many(e);
	if (lowers->count &&
	    sys_mount("overlay", ROOT, "overlay",
		      MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return err_sys(e, "mount an overlay");
	int root = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? err_sys(e, "open the overlay") : root;
}

int overlay_prepare(const struct step *s, int *ret_base, struct err *e)
{
	AUTO_FREE char *options = text_format("mode=0755,%s", s->data);

	AUTO_CLOSE int base = enter_base(options, e);
	if (base < 0 || make_folders(e) < 0)
		return -1;
	int ours = open(OURS, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ours < 0)
		return err_sys(e, "open a folder for the overlay");
	*ret_base = fd_take(&base);
	return ours;
}

int overlay_merge(const struct step *s, int base, struct err *e)
{
	if (fchdir(base) < 0)
		return err_sys(e, "enter the tmpfs of the overlay");
	/* Inside, the owner of the upper folder appears as the owner of "/". */
	if (s->is_roots && chown(DISK UPPER, 0, 0) < 0)
		return err_sys(e, "give the root to root inside");
	if ((s->upper && bind_disk(s, e) < 0) || (s->source && bind_image(s, e) < 0) ||
	    (s->lowers && link_lowers(s->lowers, e) < 0) || mount_overlay(s, e) < 0)
		return -1;
	int root = open(ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? err_sys(e, "open the overlay") : root;
}
