#include "sandbox/root/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/kernel/pivot.h"
#include "sandbox/kernel/procfs.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/mounts_parts.h"
#include "sandbox/root/overlay.h"
#include "sandbox/root/root_fuse.h"

int mounts_attach(struct tree *t, int mount, const struct mount_target *at,
		  const struct step *s, struct err *e)
{
	if (mount_api_attach(mount, at->dir, at->name, s->target, e) < 0)
		return -1;
	/* `targets` remembers the folder that was looked up last (mount_target.h).  A
	 * mount on a name that was just made in it leaves that folder visible.  Any
	 * other mount may cover it, so it is forgotten. */
	if ((s->kind != STEP_BIND || s->is_dir) && !*at->name)
		mount_target_forget(&t->targets);
	return 0;
}

static int attach_fd(struct tree *t, int mount, int target, const struct step *s,
		     struct err *e)
{
	return mounts_attach(t, mount,
			     &(struct mount_target){ .dir = target, .name = "" }, s, e);
}

static int do_root(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_FREE char *options = text_format("mode=0755,%s", s->data);

	t->root = mount_api_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (t->root < 0)
		return -1;
	/* The root is mounted over "/", since every host has that path. */
	if (sys_move_mount(t->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the new root");
	targets_init(&t->targets, t->root);
	return 0;
}

static int clone_copy(const struct step *s, struct err *e)
{
	AUTO_FREE char *path = text_format("%s/upper", s->upper);

	AUTO_CLOSE int root = mount_api_clone(AT_FDCWD, path, false, e);
	if (root < 0 || mount_api_set_attr(root, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false, path,
				    e) < 0)
		return -1;
	return fd_take(&root);
}

/* Mounts a root that fuse-overlayfs serves, or that is a copy of the image; later
 * steps write the sandbox's own files into it. */
static int mount_whole(struct tree *t, const struct step *s, struct err *e)
{
	t->is_whole = true;
	t->root = s->is_served ? root_fuse_mount(t->server, e) : clone_copy(s, e);
	if (t->root < 0)
		return -1;
	if (sys_move_mount(t->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the root");
	targets_init(&t->targets, t->root);
	return 0;
}

static int do_overlay(struct tree *t, const struct step *s, struct err *e)
{
	if (s->is_copied || s->is_served)
		return mount_whole(t, s, e);
	t->overlay = s;
	t->root = overlay_prepare(s, &t->base, e);
	if (t->root < 0)
		return -1;
	targets_init(&t->targets, t->root);
	t->targets.is_roots = s->is_roots;
	return 0;
}

static int do_merge(struct tree *t, const struct step *s, struct err *e)
{
	(void)s; /* unused: t->overlay, the step of the overlay, says which layers are
		  * merged */
	if (!t->overlay)
		return 0; /* nothing to merge: a copied or served root is complete
			   * already */
	int root = overlay_merge(t->overlay, t->base, e);
	if (root < 0)
		return -1;
	targets_done(&t->targets);
	own_close(&t->root);
	t->root = root;
	targets_init(&t->targets, root);
	t->targets.is_roots = t->overlay->is_roots;
	t->left.upper = overlay_upper(e);
	return t->left.upper < 0 ? -1 : 0;
}

static int do_dir(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, true, s->mode, &at, e) < 0)
		return -1;
	/* A directory that the image already had keeps its owner. */
	if (!t->targets.is_roots || !*at.name || (!s->uid && !s->gid))
		return 0;
	if (fchownat(at.dir, at.name, s->uid, s->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "change the owner of %s", s->target);
	return 0;
}

static int do_symlink(struct tree *t, const struct step *s, struct err *e)
{
	const char *name;
	int parent = mount_target_parent(&t->targets, s->target, &name, e);

	if (parent < 0)
		return -1;
	if (symlinkat(s->data, parent, name) == 0)
		return mount_target_own(&t->targets, parent, name, e);
	return errno == EEXIST ? 0 : err_sys(e, "make the link %s", s->target);
}

static int cannot_write(const struct step *s, struct err *e)
{
	(void)err_sys(e, "write %s", s->target);
	if (e->sys != EOVERFLOW)
		return -1;
	(void)err_in(e, "the image has files of ids that are not mapped");
	return err_remedy(e, "--read-only, or --idmap ranges, or give all of the image one "
			     "owner and group");
}

/* Attaches the mount at the target, which is there and is no link (etc_folder.h). */
static int attach_placed(struct tree *t, int mount, const struct step *s, struct err *e)
{
	struct mount_target at = { .fd = -1 };

	at.dir = mount_target_parent(&t->targets, s->target, &at.name, e);
	return at.dir < 0 ? -1 : mounts_attach(t, mount, &at, s, e);
}

/* Mounts a file of the root's tmpfs over the empty file that a prepared folder has at the
 * target.  The file is in the folder /proc, over which procfs is mounted later: without a
 * name it could not be mounted over (--nesting). */
static int mount_file(struct tree *t, const struct step *s, struct err *e)
{
	const int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
	AUTO_FREE char *name = text_format("proc%s", strrchr(s->target, '/'));

	if (mkdirat(t->root, "proc", 0555) < 0 && errno != EEXIST)
		return err_sys(e, "make /proc");
	AUTO_CLOSE int fd = openat(t->root, name, flags, s->mode);
	if (fd < 0 || io_write_all(fd, s->data, strlen(s->data)) < 0)
		return err_sys(e, "write %s", s->target);
	AUTO_CLOSE int mount = mount_api_clone(fd, "", false, e);
	if (mount < 0 ||
	    mount_api_set_attr(mount, MOUNT_ATTR_RDONLY, false, s->target, e) < 0)
		return -1;
	return attach_placed(t, mount, s, e);
}

/* A file or a link that the image already has at this path is replaced and
 * never written through. */
static int do_file(struct tree *t, const struct step *s, struct err *e)
{
	if (s->is_placed)
		return mount_file(t, s, e);
	const char *name;
	int parent = mount_target_parent(&t->targets, s->target, &name, e);

	if (parent < 0)
		return -1;
	const int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(parent, name, flags, s->mode);
	if (fd < 0 && errno == EEXIST && unlinkat(parent, name, 0) == 0)
		fd = openat(parent, name, flags, s->mode);
	if (fd < 0 || io_write_all(fd, s->data, strlen(s->data)) < 0)
		return cannot_write(s, e);
	return mount_target_own(&t->targets, parent, name, e);
}

/* Mounts a folder of the root tmpfs upon itself.  All writable folders then share one
 * file system and its size limit, while the root's own mount can be made read-only
 * without them. */
static int do_scratch(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, true, s->mode, &at, e) < 0)
		return -1;
	AUTO_CLOSE int mount = mount_api_clone(at.dir, at.name, false, e);
	if (mount < 0)
		return -1;
	return mounts_attach(t, mount, &at, s, e);
}

static int do_tmpfs(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };
	if (mount_target_make(&t->targets, s->target, true, 0755, &at, e) < 0)
		return err_from(e, s->from);
	AUTO_FREE char *options = text_format("%s%s", s->data, t->targets.is_roots ?
					      ",uid=0,gid=0" : "");
	AUTO_CLOSE int mount =
		mount_api_make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	struct stat st;
	if (mount < 0 || mounts_attach(t, mount, &at, s, e) < 0)
		return err_from(e, s->from);
	if (fstat(mount, &st) == 0)
		t->tmpfs = st.st_dev;
	return 0;
}

/* Makes two mounts of one file system: processes inside see a read-only one, and the
 * writable one is attached nowhere.  The writable one is cloned from the attached
 * mount, which the kernel can do since 5.2; a mount that is attached nowhere cannot
 * be cloned before 6.15. */
static int do_logs(struct tree *t, const struct step *s, struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, true, 0755, &at, e) < 0)
		return -1;
	AUTO_CLOSE int mount = mount_api_make("tmpfs", s->data, attr, e);
	if (mount < 0 || mounts_attach(t, mount, &at, s, e) < 0)
		return -1;
	t->left.logs = mount_api_clone(mount, "", false, e);
	if (t->left.logs < 0)
		return -1;
	return mount_api_set_attr(mount, MOUNT_ATTR_RDONLY, false, s->target, e);
}

int mounts_make_proc(struct err *e)
{
	return procfs_make("hidepid=ptraceable", e); /* layer: proc-hidepid */
}

int mounts_make_own_proc(struct err *e)
{
	return procfs_make("subset=pid", e);
}

static int do_proc(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_CLOSE int target = mount_target_open(&t->targets, s->target, e);
	if (target < 0)
		return -1;
	AUTO_CLOSE int mount = mounts_make_proc(e);
	if (mount < 0 || attach_fd(t, mount, target, s, e) < 0)
		return -1;
	t->left.sysctls = openat(mount, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->left.sysctls < 0 ? err_sys(e, "open /proc/sys") : 0;
}

static int do_devpts(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_CLOSE int target = mount_target_open(&t->targets, s->target, e);
	if (target < 0)
		return -1;
	/* max: the kernel counts ptys for the whole machine (kernel.pty.max).
	 * 128 suffice for 64 sessions, for those whose processes are still
	 * dying, and for some that commands open. */
	AUTO_CLOSE int mount = mount_api_make("devpts", "mode=0620,ptmxmode=0666,max=128",
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	if (mount < 0)
		return -1;
	return attach_fd(t, mount, target, s, e);
}

static int do_mask(struct tree *t, const struct step *s, struct err *e)
{
	return masks_hide(&t->masks, &t->targets, s, e);
}

static int do_readonly(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_CLOSE int target = mount_target_open(&t->targets, s->target, e);
	if (target < 0)
		return -1;
	AUTO_CLOSE int mount = mount_api_clone(target, "", false, e);
	if (mount < 0)
		return -1;
	/* layer: proc-readonly */
	if (mount_api_set_attr(mount, MOUNT_ATTR_RDONLY, false, s->target, e) < 0)
		return -1;
	return attach_fd(t, mount, target, s, e);
}

static int do_seal(struct tree *t, const struct step *s, struct err *e)
{
	(void)s; /* unused: the root is made read-only by its descriptor */
	return mount_api_set_attr(t->root, MOUNT_ATTR_RDONLY, false, "/", e);
}

static int (*const actions[])(struct tree *, const struct step *, struct err *) = {
	[STEP_ROOT] = do_root,	       [STEP_OVERLAY] = do_overlay,
	[STEP_DIR] = do_dir,	       [STEP_SYMLINK] = do_symlink,
	[STEP_FILE] = do_file,	       [STEP_BIND] = mounts_bind,
	[STEP_COW] = mounts_cow,       [STEP_SCRATCH] = do_scratch,
	[STEP_TMPFS] = do_tmpfs,       [STEP_PROC] = do_proc,
	[STEP_DEVPTS] = do_devpts,     [STEP_MASK] = do_mask,
	[STEP_READONLY] = do_readonly, [STEP_SEAL] = do_seal,
	[STEP_CGROUP] = mounts_cgroup, [STEP_LOGS] = do_logs,
	[STEP_MERGE] = do_merge,
};
_Static_assert(ARRAY_LEN(actions) == STEP_KIND_COUNT, "a step has no action");

static void tree_done(struct tree *t, size_t count)
{
	for (size_t i = 0; t->hosts && i < count; i++)
		own_close(&t->hosts[i]);
	own_free(&t->hosts);
	targets_done(&t->targets);
	masks_done(&t->masks);
	own_close(&t->left.logs);
	own_close(&t->left.upper);
	own_close(&t->left.sysctls);
	own_close(&t->root);
	own_close(&t->base);
}

int mounts_run(const struct plan *p, int server, struct mounted *ret, struct err *e)
{
	static const struct mounted nothing = { .logs = -1, .upper = -1, .sysctls = -1 };
	struct tree t = {
		.root = -1, .base = -1, .server = server, .plan = p, .left = nothing
	};

	targets_init(&t.targets, -1);
	masks_init(&t.masks);
	int result = mounts_clone_hosts(&t, e);
	for (t.at = 0; t.at < p->count && result == 0; t.at++) {
		if (p->steps[t.at].kind != STEP_BIND)
			t.entered = 0; /* other steps may enter other folders */
		result = actions[p->steps[t.at].kind](&t, &p->steps[t.at], e);
	}
	if (result == 0)
		result = pivot_into(t.root, false, e);
	if (result == 0) {
		*ret = t.left;
		t.left = nothing;
	}
	tree_done(&t, p->count);
	return result;
}
