/* Changing the mounts: the old calls, the new calls, pivot_root.  Where they
 * work (in a user namespace of the prober's own) each is tried on a mount made
 * for it; inside, making that mount fails, and the probe attacks a mount that
 * is there already. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>

/* The C library's header and the kernel's disagree about some names; these are
 * only in the kernel's, or missing from older ones. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* Unshares the mount namespace where mounting works, so that every change ends
 * with the trial and the next trial still has its /proc. */
static void mounts_apart(void)
{
	(void)unshare(CLONE_NEWNS); /* inside a sandbox this fails with EPERM */
	(void)mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL); /* the same */
}

static void remount(struct trial *t, const char *path)
{
	mounts_apart();
	/* Makes a mount that can be undone; this works only where mounting is
	 * allowed. */
	(void)mount(path, path, NULL, MS_BIND, NULL);
	(void)mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
	trial_call(t, mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static void remount_bind(struct trial *t)
{
	remount(t, t->set->readonly);
}

static void remount_path(struct trial *t)
{
	remount(t, t->probe->text);
}

/* Unmounts whatever is mounted over a file, such as the mask that hides it. */
static void unmount_path(struct trial *t)
{
	mounts_apart();
	(void)mount("/dev/null", t->probe->text, NULL, MS_BIND, NULL); /* as above */
	trial_call(t, umount2(t->probe->text, (int)t->probe->value));
}

static void unmount_bind(struct trial *t)
{
	const char *path = t->set->readonly;

	mounts_apart();
	(void)mount(path, path, NULL, MS_BIND, NULL); /* as above */
	trial_call(t, umount2(path, MNT_DETACH));
}

static void mount_type(struct trial *t)
{
	mounts_apart();
	trial_call(t, mount("none", t->set->scratch, t->probe->text, 0, NULL));
}

static void mount_bind(struct trial *t)
{
	mounts_apart();
	trial_call(t, mount("/", t->set->scratch, NULL, MS_BIND | MS_REC, NULL));
}

static void mount_move(struct trial *t)
{
	mounts_apart();
	trial_call(t, mount("/proc", t->set->scratch, NULL, MS_MOVE, NULL));
}

static void mount_shared(struct trial *t)
{
	mounts_apart();
	trial_call(t, mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
}

/* The new calls.  Arguments are valid where they can be and otherwise name no
 * descriptor (-1): EBADF then shows that the call was reached. */
static void new_open_tree(struct trial *t)
{
	trial_call(t, syscall(SYS_open_tree, AT_FDCWD, "/",
			      (unsigned int)t->probe->value));
}

static void new_fsopen(struct trial *t)
{
	trial_call(t, syscall(SYS_fsopen, "tmpfs", 0));
}

static void new_fsconfig(struct trial *t)
{
	trial_call(t, syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0));
}

static void new_fsmount(struct trial *t)
{
	trial_call(t, syscall(SYS_fsmount, -1, 0, 0));
}

static void new_fspick(struct trial *t)
{
	trial_call(t, syscall(SYS_fspick, AT_FDCWD, "/proc", 0));
}

static void new_move_mount(struct trial *t)
{
	trial_call(t, syscall(SYS_move_mount, -1, "", -1, "", 0));
}

static void new_mount_setattr(struct trial *t)
{
	struct {
		uint64_t set, clear, propagation, userns;
	} attr = { 0 };

	trial_call(t, syscall(SYS_mount_setattr, -1, "x", 0, &attr,
			      sizeof(attr)));
}

static void old_pivot_root(struct trial *t)
{
	trial_call(t, syscall(SYS_pivot_root, ".", "."));
}

#define MOUNT_TYPE(nm, type) { "A13", nm, .run = mount_type, .text = type }

const struct probe mounts_probes[] = {
	{ "A11", "remount-ro-bind-rw", .run = remount_bind },
	{ "A11", "remount-usr-rw", .run = remount_path, .text = "/usr" },
	{ "A11", "remount-proc-sys-rw", .run = remount_path, .text = "/proc/sys" },
	{ "A12", "umount-mask", .run = unmount_path, .text = "/proc/keys" },
	{ "A12", "umount-mask-lazily", .run = unmount_path, .text = "/proc/kallsyms",
	  .value = MNT_DETACH },
	{ "A12", "umount-bind", .run = unmount_bind },
	{ "A13", "mount-bind-root", .run = mount_bind },
	{ "A13", "mount-move-proc", .run = mount_move },
	{ "A13", "mount-shared", .run = mount_shared },
	MOUNT_TYPE("mount-tmpfs", "tmpfs"),
	MOUNT_TYPE("mount-proc", "proc"),
	MOUNT_TYPE("mount-sysfs", "sysfs"),
	MOUNT_TYPE("mount-cgroup2", "cgroup2"),
	MOUNT_TYPE("mount-mqueue", "mqueue"),
	{ "A13", "open-tree", .run = new_open_tree },
	{ "A13", "open-tree-clone", .run = new_open_tree,
	  .value = OPEN_TREE_CLONE | AT_RECURSIVE },
	{ "A13", "fsopen", .run = new_fsopen },
	{ "A13", "fsconfig", .run = new_fsconfig },
	{ "A13", "fsmount", .run = new_fsmount },
	{ "A13", "fspick", .run = new_fspick },
	{ "A13", "move-mount", .run = new_move_mount },
	{ "A13", "mount-setattr", .run = new_mount_setattr },
	{ "A14", "pivot-root", .run = old_pivot_root },
	{ 0 },
};
