#include "sandbox/root/masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/plan/plan.h"

#define PROC "/proc/"

void masks_init(struct masks *m)
{
	*m = (struct masks){ .mount = { -1, -1 } };
}

void masks_done(struct masks *m)
{
	own_close(&m->mount[0]);
	own_close(&m->mount[1]);
}

static int clone_file_mask(struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, "/dev/null", false, e);

	if (mount < 0 || mount_api_set_attr(mount, attr, false, "a mask", e) < 0)
		return -1;
	return fd_take(&mount);
}

static int clone_dir_mask(const struct targets *t, struct err *e)
{
	AUTO_CLOSE int closed = mount_target_open(t, PROC "tty/driver", e);
	struct stat st;

	if (closed < 0)
		return -1;
	if (fstat(closed, &st) < 0 || (st.st_mode & 077))
		return err_set(e, ERR_UNSUPPORTED,
			       PROC "tty/driver is not closed to others on this kernel");
	return mount_api_clone(closed, "", false, e);
}

static int clone_mask(const struct masks *m, const struct targets *t, bool is_dir,
		      struct err *e)
{
	if (m->mount[is_dir] >= 0)
		return mount_api_clone(m->mount[is_dir], "", false, e);
	return is_dir ? clone_dir_mask(t, e) : clone_file_mask(e);
}

/* Attaches a mask to `at`; `is_dir` tells whether that is a folder. */
static int attach(struct masks *m, struct targets *t, const struct mount_target *at,
		  bool is_dir, struct err *e)
{
	const char *where = *at->name ? at->name : "its target";
	AUTO_CLOSE int mount = clone_mask(m, t, is_dir, e);

	if (mount < 0 || mount_api_attach(mount, at->dir, at->name, where, e) < 0)
		return -1;
	/* The mount may cover the folder that was looked up last. */
	if (!*at->name)
		mount_target_forget(t);
	if (m->mount[is_dir] < 0)
		m->mount[is_dir] = fd_take(&mount);
	return 0;
}

/* Hides an entry of the new procfs, where every link is the kernel's.  An entry that this
 * kernel's procfs does not have needs no mask.  The entry's type is looked up: a bind that
 * fails costs a grace period of RCU. */
static int hide_in_proc(struct masks *m, struct targets *t, const struct step *s,
			struct err *e)
{
	struct mount_target at = { .fd = -1 };
	struct stat st;

	at.dir = mount_target_parent(t, s->target, &at.name, e);
	if (at.dir < 0)
		return -1;
	if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat");
	const bool is_dir = S_ISDIR(st.st_mode);
	const bool is_top = at.name == s->target + sizeof(PROC) - 1;
	if (is_top && m->name[is_dir])
		return mount_api_bind(m->name[is_dir], at.dir, at.name, e);
	if (attach(m, t, &at, is_dir, e) < 0)
		return -1;
	if (is_top)
		m->name[is_dir] = at.name;
	return 0;
}

static int hide(struct masks *m, struct targets *t, const struct step *s, struct err *e)
{
	struct err absent;
	struct stat st;

	if (!strncmp(s->target, PROC, sizeof(PROC) - 1))
		return hide_in_proc(m, t, s, e);
	AUTO_CLOSE int target = mount_target_open(t, s->target, &absent);
	/* A folder of hutch's own (s->from is set) was there a moment ago and has to be
	 * there still. */
	if (target < 0 && absent.sys == ENOENT && !s->from)
		return 0;
	if (target < 0) {
		*e = absent;
		return err_from(e, s->from);
	}
	if (fstat(target, &st) < 0)
		return err_sys(e, "stat");
	const struct mount_target at = { .fd = -1, .dir = target, .name = "" };
	return attach(m, t, &at, S_ISDIR(st.st_mode), e);
}

int masks_hide(struct masks *m, struct targets *t, const struct step *s, struct err *e)
{
	return hide(m, t, s, e) < 0 ? err_in(e, "mask %.300s", s->target) : 0;
}
