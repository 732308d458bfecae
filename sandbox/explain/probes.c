#include "sandbox/explain/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/explain/checks.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/network.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/mounts.h"
#include "sandbox/root/overlay.h"
#include "sandbox/root/overlay_upper.h"
#include "sandbox/root/root_fuse.h"

void probe_kernel(struct trial *t)
{
	struct utsname name;
	const bool is_old = diagnose_is_old_kernel(&name);

	if (!name.release[0]) {
		trial_found(t, CHECK_LIMITED, "a kernel that does not tell its version");
		return;
	}
	if (!is_old) {
		trial_found(t, CHECK_OK, "Linux %s", name.release);
		return;
	}
	trial_found(t, CHECK_LIMITED, "Linux %s is older than " DIAGNOSE_OLDEST_KERNEL,
		    name.release);
	trial_remedy(t, "install a newer kernel; on Debian, as root: apt install "
			"linux-image-amd64 && reboot");
}

/* Uses a capability that the new user namespace should give, since a security module
 * may take capabilities away after the namespace was made.  chroot(2) is the
 * capability's test, since it needs no other namespace. */
static int use_rights(struct trial *t)
{
	return chroot("/") < 0 ? err_sys(&t->e, "use a right in a user namespace") : 0;
}

void probe_user_namespaces(struct trial *t)
{
	if (diagnose_try(CLONE_NEWUSER, &t->e) < 0 ||
	    trial_inside(t, 0, use_rights) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "can be made by user %u, %s", geteuid(),
			    t->user->was_root ? "for whom root's sandboxes stand"
					      : "who has all rights in it");
}

void probe_namespaces(struct trial *t)
{
	if (diagnose_try(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
			 &t->e) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "mount, pid, ipc and uts can be made");
}

static int make_network(struct trial *t)
{
	AUTO_CLOSE int made = network_make(&t->e);

	return made < 0 ? -1 : network_enter(&made, &t->e);
}

void probe_network_namespace(struct trial *t)
{
	if (trial_inside(t, 0, make_network) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK,
			    "can be made, with a loopback device that is up");
}

void probe_cgroup_namespace(struct trial *t)
{
	if (diagnose_try(CLONE_NEWCGROUP, &t->e) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "can be made");
}

/* Makes a mount of a file of the host and a new root, and so tries each of the
 * kernel's mount calls that a launch makes once. */
static int make_mounts(struct trial *t)
{
	AUTO_CLOSE int file = mount_api_clone_file("/dev/null", &t->e);
	if (file < 0)
		return -1;
	AUTO_CLOSE int root =
		mount_api_make("tmpfs", "mode=0755", MOUNT_ATTR_NOSUID, &t->e);
	if (root < 0)
		return -1;
	if (sys_move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(&t->e, "mount a new root");
	if (fchdir(root) < 0 || mkdir("old", 0700) < 0)
		return err_sys(&t->e, "write to a tmpfs");
	if (sys_pivot_root(".", "old") < 0)
		return err_sys(&t->e, "pivot_root");
	if (sys_umount2("/old", KERNEL_MNT_DETACH) < 0)
		return err_sys(&t->e, "let go of the old root");
	return 0;
}

void probe_mounts(struct trial *t)
{
	if (trial_inside(t, CLONE_NEWNS, make_mounts) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK,
			    "a new root can be mounted, and the old one let go");
}

static int make_proc(struct trial *t)
{
	AUTO_CLOSE int mount = mounts_make_proc(&t->e);

	return mount < 0 ? -1 : 0;
}

void probe_proc(struct trial *t)
{
	if (trial_inside(t, CLONE_NEWNS | CLONE_NEWPID, make_proc) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "a fresh one can be mounted");
}

/* Makes the overlay's lower layer: a tmpfs with one file and one folder, which
 * becomes the trial's root.  The layer is not a folder of the host, so that the trial
 * is the same on every host. */
static int make_lower(struct err *e)
{
	AUTO_CLOSE int base = mount_api_make("tmpfs", "mode=0755", MOUNT_ATTR_NOSUID, e);

	if (base < 0)
		return -1;
	if (sys_move_mount(base, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount a tmpfs");
	if (fchdir(base) < 0 || chroot(".") < 0)
		return err_sys(e, "enter a tmpfs");
	if (mkdir("lower", 0755) < 0 || mkdir("lower/folder", 0755) < 0 ||
	    mknod("lower/file", S_IFREG | 0644, 0) < 0)
		return err_sys(e, "write to a tmpfs");
	return 0;
}

/* Moves and removes files of the lower layer.  If the upper layer has no
 * user.* attributes, mounting the overlay succeeds, but these changes, which
 * need the attributes, fail.  A new file can be moved on any upper layer, so a
 * new file would prove nothing. */
static int change_overlay(int root, struct err *e)
{
	if (mknodat(root, "new", S_IFREG | 0644, 0) < 0 ||
	    renameat(root, "new", root, "newer") < 0)
		return err_sys(e, "change what is in an overlay");
	if (overlay_upper_tmpfs_suffices() &&
	    (renameat(root, "file", root, "moved") < 0 ||
	     unlinkat(root, "folder", AT_REMOVEDIR) < 0 ||
	     renameat(root, "moved", root, "folder") < 0))
		return err_sys(e, "change what is in an overlay");
	return 0;
}

static int mount_overlay(struct trial *t)
{
	char options[] = "size=1m", target[] = "/", source[] = "/lower";
	struct step s = { .kind = STEP_OVERLAY, .target = target, .source = source,
			  .data = options };
	struct stat st;

	if (make_lower(&t->e) < 0)
		return -1;
	if (stat(source, &st) < 0)
		return err_sys(&t->e, "stat a tmpfs");
	s.dev = st.st_dev;
	s.ino = st.st_ino;
	int base = -1;
	AUTO_CLOSE int ours = overlay_prepare(&s, &base, &t->e);
	AUTO_CLOSE int held = base;
	AUTO_CLOSE int root = ours < 0 ? -1 : overlay_merge(&s, held, &t->e);
	if (root < 0)
		return -1;
	return change_overlay(root, &t->e);
}

static void find_upper(struct trial *t)
{
	AUTO_FREE char *place = NULL;

	if (overlay_upper_try(&place, &t->e) < 0) {
		trial_failed(t);
		return;
	}
	trial_found(t, CHECK_LIMITED,
		    "works; a tmpfs has no user.* attributes for what is "
		    "written, but %s can have them",
		    place);
	trial_means(t,
		    "what a sandbox writes over an image is kept on disk, not in memory, "
		    "until it ends; --idmap ranges with an image needs --read-only");
	trial_remedy(t, "a kernel with CONFIG_TMPFS_XATTR, 6.6 or newer");
}

static void say_served(struct trial *t, const struct root_fuse_overlayfs *f,
		       const char *place)
{
	trial_found(t, CHECK_LIMITED,
		    "%s; images are served by %s, version %u.%u, and what is "
		    "written to one is kept in %s",
		    t->e.text, f->program.path, f->major, f->minor, place);
	trial_means(
		t, "calls for files of an image take longer; hutch diff, hutch snapshot, "
		   "--upper, :cow and RUN in hutch image build fail");
	trial_remedy(t, "%s", t->e.remedy);
}

static void say_copied(struct trial *t, const char *place, bool shares,
		       const struct err *why)
{
	trial_found(t, CHECK_LIMITED,
		    "%s; each sandbox gets a copy of its image in %s%s; %s", t->e.text,
		    place, shares ? ", whose content is shared" : "", why->text);
	trial_means(
		t,
		"a launch of an image takes %s; hutch diff, hutch snapshot, --upper, :cow "
		"and RUN in hutch image build fail",
		shares ? "time for each of its files"
		       : "the time and the room of a copy of it");
	trial_remedy(t, "%s%s%s", t->e.remedy, *why->remedy ? "; or " : "", why->remedy);
}

/* Finds out how a launch would make the root without overlayfs (prepare_root() in
 * launch.c).  The caller has put the reason why there is no overlayfs into t->e. */
static void find_other(struct trial *t)
{
	AUTO_FREE char *place = NULL;
	struct root_fuse_overlayfs served = { .program.fd = -1 };
	struct err none, why;
	bool shares = false;

	if (overlay_upper_try_root(&place, &shares, &none) < 0) {
		trial_found(t, CHECK_MISSING, "%s", none.text);
		trial_remedy(t, "%s", t->e.remedy);
	} else if (root_fuse_find(&served, &why) == 0) {
		say_served(t, &served, place);
	} else {
		say_copied(t, place, shares, &why);
	}
	root_fuse_overlayfs_done(&served);
}

void probe_overlayfs(struct trial *t)
{
	if (overlay_try(&t->e) < 0)
		find_other(t);
	else if (trial_inside(t, CLONE_NEWNS, mount_overlay) < 0)
		trial_failed(t);
	else if (!overlay_upper_tmpfs_suffices())
		find_upper(t);
	else
		trial_found(t, CHECK_OK,
			    "works in a user namespace, with a tmpfs for what is "
			    "written");
}

static int set_no_new_privs(struct err *e)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? err_sys(e, "set no_new_privs")
							  : 0;
}

void probe_seccomp(struct trial *t)
{
	struct seccomp_program filter;

	/* The answer is given before the filter is installed, since the filter refuses
	 * many later calls. */
	trial_found(t, CHECK_OK, "hutch's filter can be installed");
	seccomp_default(SECCOMP_FLAT, &filter);
	if (set_no_new_privs(&t->e) < 0 || seccomp_install(&filter, &t->e) < 0) {
		trial_failed(t);
		trial_remedy(t, "a kernel with CONFIG_SECCOMP_FILTER");
	}
}

void probe_seccomp_notify(struct trial *t)
{
	AUTO_CLOSE int listener =
		set_no_new_privs(&t->e) < 0 ? -1 : seccomp_try_listener(&t->e);

	if (listener < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "a listener for refused calls can be installed");
}

/* Returns the security modules that the kernel lists, or NULL where securityfs
 * is not mounted. */
static char *security_modules(void)
{
	static const char path[] = "/sys/kernel/security/lsm";
	char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, path, 4096, &text, &len, NULL) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void explain_no_landlock(struct trial *t, int sys)
{
	AUTO_FREE char *modules = security_modules();

	if (sys == EOPNOTSUPP) {
		trial_found(t, CHECK_MISSING,
			    "the kernel has it, and did not enable it when it "
			    "was booted");
		trial_remedy(t,
			     "as root: add lsm=landlock,%.300s to GRUB_CMDLINE_LINUX in "
			     "/etc/default/grub; update-grub && reboot",
			     modules ? modules : "$(cat /sys/kernel/security/lsm)");
	} else if (diagnose_is_filtered()) {
		trial_found(t, CHECK_MISSING,
			    "refused by a seccomp filter around this process, "
			    "or not in this kernel");
		trial_remedy(t, "start the outer container with --security-opt "
				"seccomp=unconfined");
	} else {
		trial_found(t, CHECK_MISSING, "this kernel was built without it");
		trial_remedy(t, "a kernel with CONFIG_SECURITY_LANDLOCK, 6.12 or newer");
	}
}

/* Sets the answer CHECK_LIMITED for a kernel with an old Landlock.  If trial_means()
 * is not called, the check keeps its default text, which describes a kernel without
 * Landlock. */
static void limit_landlock(struct trial *t, int abi)
{
	const bool has_refer = abi >= LANDLOCK_ABI_REFER;
	const char *purpose =
		has_refer ? "it is a second wall around sandboxes' files"
			  : "a second wall around sandboxes' files takes ABI 2";

	trial_found(t, CHECK_LIMITED,
		    "ABI %d; %s; unix sockets can be kept apart from ABI %d "
		    "on",
		    abi, purpose, LANDLOCK_ABI_SCOPES);
	if (has_refer)
		trial_means(
			t,
			"with --network host unix sockets do not work inside: those of "
			"the host could not be kept apart");
	trial_remedy(t, "a kernel 6.12 or newer");
}

void probe_landlock(struct trial *t)
{
	int abi = landlock_abi(), sys = errno;

	if (abi == 0)
		explain_no_landlock(t, sys);
	else if (set_no_new_privs(&t->e) < 0 || landlock_try(&t->e) < 0)
		trial_failed(t);
	else if (abi < LANDLOCK_ABI_SCOPES)
		limit_landlock(t, abi);
	else
		trial_found(t, CHECK_OK,
			    "ABI %d; it is a second wall around sandboxes' files", abi);
}
