/* Changing the mounts: the old calls, the new calls, pivot_root.  Where they
 * work (a user namespace of one's own) they are tried on mounts made for it;
 * inside, making those fails, and what is there already is attacked. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>

/* The C library's header and the kernel's disagree about some names; these
 * are only in the latter, or missing from older ones. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* Where mounting works, so does this: then what is changed ends with the
 * trial, and does not take /proc away from the next one. */
static void mounts_apart(void)
{
	(void)unshare(CLONE_NEWNS); /* EPERM is what a sandbox says */
	(void)mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL); /* the same */
}

static void remount(struct trial *t, const char *path)
{
	mounts_apart();
	/* Only where mounting is allowed is there something to undo. */
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

/* Takes away what hides a file, or what is mounted there at all. */
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

/* Each of the new calls, with arguments that are good where they can be and
 * otherwise name no descriptor (-1): then EBADF shows that it was reached. */
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
