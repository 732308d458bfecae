#include "sandbox/raw/raw_mounts.h"

#include <fcntl.h>
#include <linux/mount.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/raw/raw_parts.h"
#include "sandbox/raw/raw_plan.h"

/* Mounts a new file system.  A procfs is refused where parts of the host's are masked. */
static int do_mount(struct raw_tree *t, const struct raw_step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };
	AUTO_CLOSE int mount =
		mount_api_make(s->type, s->data ? s->data : "", s->flags.set, e);

	if (mount < 0) {
		if (s->remedy && e->kind == ERR_REFUSED)
			(void)err_remedy(e, "%s", s->remedy);
		return err_in(e, "mount %s at %.300s", s->type, s->target);
	}
	if ((s->propagation || s->userns >= 0) && raw_dress(mount, s, e) < 0)
		return -1;
	if (s->copies_up && raw_copy_up(t, mount, s, e) < 0)
		return -1;
	if (raw_target(t, s, true, &at, e) < 0)
		return -1;
	return raw_attach(t, mount, &at, s, e);
}

static int (*const actions[])(struct raw_tree *, const struct raw_step *,
			      struct err *) = {
	[RAW_BIND] = raw_do_bind,	[RAW_MOUNT] = do_mount,
	[RAW_OVERLAY] = raw_do_overlay, [RAW_DIR] = raw_do_dir,
	[RAW_FILE] = raw_do_file,	[RAW_DATA] = raw_do_data,
	[RAW_SYMLINK] = raw_do_symlink, [RAW_CHMOD] = raw_do_chmod,
	[RAW_DEVICE] = raw_do_device,	[RAW_REMOUNT] = raw_do_remount,
	[RAW_COVER] = raw_do_cover,	[RAW_MASK] = raw_do_mask,
};
_Static_assert(ARRAY_LEN(actions) == RAW_KIND_COUNT, "a step has no action");

/* Keeps the mounts to come from the host.  A mount namespace that is not below a new user
 * namespace has the host's shared mounts, to which the kernel would hand them on. */
static int part_from_host(const struct raw_plan *plan, struct err *e)
{
	/* A root with shared propagation has binds that share mounts with the host, so only
	 * the mount below the new root parts from it. */
	const bool is_shared = plan->root_propagation & MS_SHARED;
	struct mount_attr attr = { .propagation = is_shared ? MS_PRIVATE : MS_SLAVE };

	if (sys_mount_setattr(AT_FDCWD, "/", is_shared ? 0 : AT_RECURSIVE, &attr) < 0)
		return err_sys(e, "part the mounts from the host's");
	return 0;
}

static bool needs_scratch(const struct raw_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].kind == RAW_DATA || p->steps[i].kind == RAW_OVERLAY)
			return true;
	return false;
}

static int cover_root(int mount, struct err *e)
{
	if (sys_move_mount(mount, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the new root");
	return 0;
}

/* The scratch tmpfs lies below the new root, and goes with the old one. */
static int make_scratch(struct raw_tree *t, struct err *e)
{
	if (!needs_scratch(t->plan))
		return 0;
	t->scratch = mount_api_make("tmpfs", "mode=0755",
				    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	return t->scratch < 0 ? -1 : cover_root(t->scratch, e);
}

/* The root is private until pivot_root(2) is done, which a shared one would refuse. */
static int make_root(struct raw_tree *t, struct err *e)
{
	const struct raw_plan *p = t->plan;
	struct mount_attr set = { .propagation = MS_PRIVATE };

	t->root = p->root ? mount_api_clone(AT_FDCWD, p->root, true, e)
			  : mount_api_make("tmpfs", "mode=0755",
					   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (t->root < 0)
		return -1;
	if (sys_mount_setattr(t->root, "", AT_EMPTY_PATH | AT_RECURSIVE, &set) < 0)
		return err_sys(e, "set the propagation of the new root");
	if (cover_root(t->root, e) < 0)
		return -1;
	targets_init(&t->targets, t->root);
	return 0;
}

static int make_all(struct raw_tree *t, struct err *e)
{
	if (part_from_host(t->plan, e) < 0 || raw_clone_hosts(t, e) < 0 ||
	    make_scratch(t, e) < 0 || make_root(t, e) < 0)
		return -1;
	for (; t->at < t->plan->count; t->at++) {
		const struct raw_step *s = &t->plan->steps[t->at];
		t->targets.parent_mode = s->parent_mode;
		t->targets.follows_no_link = s->follows_no_link;
		if (actions[s->kind](t, s, e) < 0)
			return err_from(e, s->from);
	}
	if (!t->plan->is_root_readonly)
		return 0;
	struct mount_attr readonly = { .attr_set = MOUNT_ATTR_RDONLY };
	if (sys_mount_setattr(t->root, "", AT_EMPTY_PATH, &readonly) < 0)
		return err_sys(e, "make the root read-only");
	return 0;
}

int raw_mounts_make(const struct raw_plan *p, int *ret_root, struct err *e)
{
	struct raw_tree t = { .plan = p, .root = -1, .scratch = -1 };

	targets_init(&t.targets, -1);
	int result = make_all(&t, e);
	if (result == 0)
		*ret_root = fd_take(&t.root);
	for (size_t i = 0; t.hosts && i < p->count; i++)
		own_close(&t.hosts[i]);
	own_free(&t.hosts);
	targets_done(&t.targets);
	own_close(&t.scratch);
	own_close(&t.root);
	return result;
}
