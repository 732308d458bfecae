/* Theory of operation.
 *
 *	caller				child (new namespaces)
 *	become the folder's owner
 *	enter the folder
 *	clone3 ------------------------> its own id maps
 *	newuidmap (ranges only) -------> waits for them
 *					 the folder as a mount of its own, pivot_root
 *					 descriptors: 0 in, 1 out, 2 null, 3 answer, 4 leash,
 *					   5 the folder, 6 the second folder
 *					 limits, no_new_privs, no capability, seccomp
 *	wait <------------------------- the work, its result
 *
 * The folder is reached as the working directory: an unprivileged open_tree(2) of
 * a descriptor from before the clone is refused, while the working directory
 * moves into the new mount namespace with the process.  The child checks again
 * that it is the same folder.  A process has only one working directory, so a
 * second folder (`beside`) is opened by its path, and is checked in the same way. */
#include "sandbox/root/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/kernel/seccomp.h"

/* The one id that the child's user namespace maps. */
#define INSIDE_ID IDMAP_AGENT

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

enum { IN_FD, OUT_FD = JAIL_OUT, ERR_FD, ANSWER_FD, LEASH_FD, FOLDER_FD,
       BESIDE_FD = JAIL_BESIDE, JAIL_FDS };

static const struct sock_filter jail_program[] = {
#include "gen/seccomp_jail.h"
};

struct prisoner {
	const struct jail *jail;
	bool is_apart; /* the folder is the root of a mount that is attached nowhere */
	int answer, null; /* descriptors of the worker's answer (worker.h) and of
			   * /dev/null */
	int maps_ready, maps_go; /* a pipe; with id ranges the child waits at it for
				  * its maps */
	int beside; /* a mount of the second folder, jail->beside; -1: none */
	uid_t uid; /* the child's user id on the host */
	gid_t gid;
};

/* --- the child ----------------------------------------------------------------- */

static int stage_ids(struct prisoner *p, struct err *e)
{
	struct idmap uid, gid;

	if (p->jail->ranges)
		return idmaps_await(p->maps_ready, &p->maps_go, e);
	(void)idmap_single(&uid, INSIDE_ID, p->uid);
	(void)idmap_single(&gid, INSIDE_ID, p->gid);
	return idmap_write_both(&uid, &gid, e);
}

/* Clones the mount of the folder together with all mounts below it.  In a user
 * namespace these cannot be left out, since they are locked to it
 * (mount_namespaces(7)). */
static int clone_tree(const char *path, bool is_read_only, struct err *e)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
			    (is_read_only ? MOUNT_ATTR_RDONLY : 0),
	};
	AUTO_CLOSE int tree = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
					    OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0)
		return err_sys(e, "open_tree of the folder");
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(e, "mount_setattr of the folder");
	return fd_take(&tree);
}

static int clone_folder(bool is_read_only, struct err *e)
{
	AUTO_CLOSE int tree = clone_tree(".", is_read_only, e);

	if (tree < 0)
		return -1;
	if (sys_move_mount(tree, "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the folder");
	return fd_take(&tree);
}

/* Makes an empty root for the child.  It is needed if the folder is on a mount that
 * is attached nowhere, since most kernels cannot clone such a mount. */
static int make_empty(struct err *e)
{
	const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
			      MOUNT_ATTR_RDONLY;
	AUTO_CLOSE int tree = mount_api_make("tmpfs", "nr_inodes=1,mode=0500", attr, e);

	if (tree < 0)
		return -1;
	if (sys_move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount an empty root");
	return fd_take(&tree);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int clone_beside(int folder, struct err *e)
{
	AUTO_FREE char *link = text_format("/proc/self/fd/%d", folder);
	struct stat is, was;
	char path[PATH_MAX];

	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return err_sys(e, "read %s", link);
	path[len] = '\0';
	AUTO_CLOSE int tree = clone_tree(path, true, e);
	if (tree < 0)
		return -1;
	if (fstat(tree, &is) < 0 || fstat(folder, &was) < 0 || !is_same(&is, &was))
		return err_set(e, ERR_REFUSED, "%.300s is another folder now", path);
	return fd_take(&tree);
}

/* Makes the child's root.  After pivot_root(".", ".") the old root lies on top
 * of the new one, and is unmounted (pivot_root(2)). */
static int stage_root(struct prisoner *p, struct err *e)
{
	struct stat is, was, above;

	if (sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(e, "make mounts private");
	if (p->jail->beside && (p->beside = clone_beside(p->jail->beside, e)) < 0)
		return -1;
	AUTO_CLOSE int tree = p->is_apart ? make_empty(e)
					  : clone_folder(p->jail->is_read_only, e);
	if (tree < 0)
		return -1;
	if (fchdir(tree) < 0 || sys_pivot_root(".", ".") < 0 ||
	    sys_umount2(".", KERNEL_MNT_DETACH) < 0 || chdir("/") < 0)
		return err_sys(e, "pivot_root");
	if (stat("/", &is) < 0 || fstat(p->is_apart ? tree : p->jail->folder, &was) < 0 ||
	    !is_same(&is, &was))
		return err_set(e, ERR_INTERNAL, "the folder is another one now");
	/* If the old root still lay over this one, "/.." would lead to it. */
	if (stat("/..", &above) < 0 || !is_same(&above, &is))
		return err_set(e, ERR_INTERNAL, "the old root is still in reach");
	return 0;
}

static int stage_descriptors(struct prisoner *p, struct err *e)
{
	const struct jail *j = p->jail;
	AUTO_CLOSE int folder = p->is_apart
			? openat(j->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			: open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int from[JAIL_FDS] = { j->in < 0 ? p->null : j->in,
				     j->out ? j->out : p->null,
				     p->null,
				     p->answer,
				     j->leash ? j->leash : p->null,
				     folder,
				     p->beside };
	const int count = p->beside < 0 ? BESIDE_FD : JAIL_FDS;
	int high[JAIL_FDS];

	if (folder < 0)
		return err_sys(e, "open the folder");
	/* All descriptors are first duplicated to higher numbers, so that dup2(2)
	 * overwrites none of them. */
	for (int i = 0; i < count; i++)
		if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, JAIL_FDS)) < 0)
			return err_sys(e, "move a descriptor");
	for (int i = 0; i < count; i++)
		if (dup2(high[i], i) < 0)
			return err_sys(e, "set descriptor %d", i);
	p->answer = ANSWER_FD;
	folder = -1; /* sys_close_range() below closes this descriptor, too */
	return sys_close_range((unsigned)count, ~0u, 0) < 0
		       ? err_sys(e, "close descriptors")
		       : 0;
}

static int stage_limits(struct prisoner *p, struct err *e)
{
	if (rlimits_lower(RLIMIT_CORE, RLIMITS_NO_CORE, e) < 0 ||
	    rlimits_lower(RLIMIT_AS, JAIL_MEMORY_MAX, e) < 0 ||
	    rlimits_lower(RLIMIT_FSIZE, p->jail->file_max, e) < 0)
		return -1;
	(void)signal(SIGXFSZ, SIG_IGN); /* SIGXFSZ is ignored: a write beyond the limit
					 * then fails with EFBIG */
	return 0;
}

static uint64_t caps_of(const struct jail *j)
{
	static const uint64_t roles[] = {
		[JAIL_READS] = 0,
		[JAIL_GIVES] = 1ull << CAP_CHOWN | 1ull << CAP_FOWNER |
			       1ull << CAP_FSETID,
		[JAIL_REMOVES] = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER,
	};

	return (j->ranges ? roles[j->role] : 0) |
	       (j->reads_all ? 1ull << CAP_DAC_READ_SEARCH : 0);
}

/* Gives up the child's supplementary groups, if it has id ranges.  Without ranges
 * only one id is mapped, and setgroups(2) is denied (user_namespaces(7)). */
static int drop_groups(const struct jail *j, struct err *e)
{
	if (!j->ranges || syscall(SYS_setgroups, 0, NULL) == 0)
		return 0;
	return err_sys(e, "drop supplementary groups");
}

static int stage_privileges(struct prisoner *p, struct err *e)
{
	const struct seccomp_program program = { .insns = jail_program,
						 .count = ARRAY_LEN(jail_program) };

	if (drop_groups(p->jail, e) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	return caps_keep(caps_of(p->jail), e) < 0 ? -1 : seccomp_install(&program, e);
}

static int (*const stages[])(struct prisoner *, struct err *) = {
	stage_ids, stage_root, stage_descriptors, stage_limits, stage_privileges,
};

static int set_up(void *arg, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(stages); i++)
		if (stages[i](arg, e) < 0)
			return -1;
	return 0;
}

static int work_inside(void *arg, void *result, struct err *e)
{
	const struct prisoner *p = arg;

	(void)e; /* unused: only set_up() reports an error */
	p->jail->work(p->jail->arg, FOLDER_FD, IN_FD, result);
	return 0;
}

/* --- the caller ------------------------------------------------------------------ */

static int become_owner(const struct jail *j, struct err *e)
{
	const struct host_user owner = { .uid = j->uid, .gid = j->gid, .was_root = true,
					.why = "owner of the folder" };

	return geteuid() == 0 ? host_user_become(&owner, e) : 0;
}

/* The task keeps all descriptors (has_all_fds), since stage_descriptors() closes
 * those that the child may not have. */
static int make_child(struct prisoner *p, struct worker *ret, struct err *e)
{
	const struct worker_task task = { .name = "the jailed process",
					  .setup = set_up,
					  .work = work_inside,
					  .arg = p,
					  .result_len = p->jail->result_len,
					  .has_all_fds = true,
					  .flags = NAMESPACES,
					  .answer = &p->answer };

	return worker_start(&task, ret, e) < 0 ? diagnose_clone(NAMESPACES, e) : 0;
}

/* Returns whether the folder is the root of a mount that is attached nowhere: then
 * its ".." is the folder itself. */
static bool is_apart(int folder)
{
	struct stat is, above;

	return fstat(folder, &is) == 0 && fstatat(folder, "..", &above, 0) == 0 &&
	       is_same(&is, &above);
}

/* Gives the child its id maps.  Without them the child cannot begin, and is
 * killed. */
static int install_maps(const struct prisoner *p, struct worker *w, struct err *e)
{
	if (!p->jail->ranges ||
	    idmaps_install(p->jail->ranges, w->pid, p->maps_go, e) == 0)
		return 0;
	worker_end(w);
	return -1;
}

static int start(const struct jail *j, struct worker *ret, struct err *e)
{
	struct prisoner p = {
		.jail = j, .beside = -1, .uid = geteuid(), .gid = getegid()
	};
	int maps[2] = { -1, -1 };

	if (j->ranges && pipe2(maps, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int ready = p.maps_ready = maps[0];
	AUTO_CLOSE int go = p.maps_go = maps[1];
	(void)ready, (void)go; /* both ends are closed on return; the child has copies */
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");
	p.null = null;
	p.is_apart = is_apart(j->folder);
	return make_child(&p, ret, e) < 0 ? -1 : install_maps(&p, ret, e);
}

int jail_start(const struct jail *j, struct worker *ret, struct err *e)
{
	if (become_owner(j, e) < 0)
		return err_in(e, "in a jail");
	if (fchdir(j->folder) < 0)
		return err_sys(e, "in a jail: enter the folder");
	return start(j, ret, e) < 0 ? err_in(e, "in a jail") : 0;
}

int jail_wait(struct worker *w, void *ret_result, struct err *e)
{
	if (worker_wait(w, ret_result, e) == 0)
		return 0;
	diagnose_setup(e);
	return err_in(e, "in a jail");
}

int jail_run(const struct jail *j, void *ret_result, struct err *e)
{
	struct worker w;

	return jail_start(j, &w, e) < 0 ? -1 : jail_wait(&w, ret_result, e);
}
