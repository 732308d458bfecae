/* Theory of operation.
 *
 *	caller				child (new namespaces)
 *	become the folder's owner
 *	into the folder
 *	clone3 ------------------------> its own id maps
 *					 the folder as a mount of its own, pivot_root
 *					 descriptors: 0 in, 1 and 2 null, 3 result, 4 leash,
 *					   5 the folder
 *					 limits, no_new_privs, no capability, seccomp
 *	wait <------------------------- the work, its result
 *
 * The folder is reached as the working directory: an unprivileged open_tree(2) of a
 * descriptor from before the clone is refused, while the working directory is moved into
 * the new mount namespace with the process.  That it is the same folder is looked at
 * again. */
#include "sandbox/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/caps.h"
#include "sandbox/diagnose.h"
#include "sandbox/identity.h"
#include "sandbox/idmap.h"
#include "sandbox/seccomp.h"

/* Of its user namespace; nobody else is there. */
#define INSIDE_ID 1000

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

enum { IN_FD, OUT_FD, ERR_FD, RESULT_FD, LEASH_FD, FOLDER_FD, JAIL_FDS };

static const struct sock_filter jail_program[] = {
#include "gen/seccomp_jail.h"
};

/* What crosses the pipe. */
struct verdict {
	struct err error; /* kind ERR_NONE: the result follows */
};

struct prisoner {
	const struct jail *jail;
	int result, null;
	uid_t uid; /* outside */
	gid_t gid;
};

/* --- the child ----------------------------------------------------------------- */

static int stage_ids(struct prisoner *p, struct err *e)
{
	struct idmap uid, gid;

	(void)idmap_single(&uid, INSIDE_ID, p->uid);
	(void)idmap_single(&gid, INSIDE_ID, p->gid);
	return idmap_write_both(&uid, &gid, e);
}

/* A mount of the folder, and of what is mounted below it: these are locked to it. */
static int clone_folder(struct err *e)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	};
	AUTO_CLOSE int tree = sys_open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
							   AT_RECURSIVE);

	if (tree < 0)
		return err_sys(e, "open_tree of the folder");
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return err_sys(e, "mount_setattr of the folder");
	if (sys_move_mount(tree, "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(e, "mount the folder");
	return fd_take(&tree);
}

/* pivot_root(2), "pivot_root(".", ".")": the old root lies on top, and is taken off. */
static int stage_root(struct prisoner *p, struct err *e)
{
	struct stat is, was;

	(void)p;
	if (sys_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(e, "make mounts private");
	AUTO_CLOSE int tree = clone_folder(e);
	if (tree < 0)
		return -1;
	if (fchdir(tree) < 0 || sys_pivot_root(".", ".") < 0 ||
	    sys_umount2(".", KERNEL_MNT_DETACH) < 0 || chdir("/") < 0)
		return err_sys(e, "pivot_root");
	if (stat("/", &is) < 0 || fstat(p->jail->folder, &was) < 0 || is.st_dev != was.st_dev ||
	    is.st_ino != was.st_ino)
		return err_set(e, ERR_INTERNAL, "the folder is another one now");
	return 0;
}

static int stage_descriptors(struct prisoner *p, struct err *e)
{
	AUTO_CLOSE int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int from[JAIL_FDS] = { p->jail->in, p->null, p->null, p->result,
				     p->jail->leash, folder };
	int high[JAIL_FDS];

	if (folder < 0)
		return err_sys(e, "open the folder");
	/* First all above the places that they get. */
	for (int i = 0; i < JAIL_FDS; i++)
		if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, JAIL_FDS)) < 0)
			return err_sys(e, "move a descriptor");
	for (int i = 0; i < JAIL_FDS; i++)
		if (dup2(high[i], i) < 0)
			return err_sys(e, "set descriptor %d", i);
	p->result = RESULT_FD;
	folder = -1; /* goes with the others */
	return sys_close_range(JAIL_FDS, ~0u, 0) < 0 ? err_sys(e, "close descriptors") : 0;
}

static int stage_limits(struct prisoner *p, struct err *e)
{
	const struct {
		int resource;
		uint64_t most;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_AS, JAIL_MEMORY_MAX },
		{ RLIMIT_FSIZE, p->jail->file_max },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit limit;
		if (getrlimit(limits[i].resource, &limit) < 0)
			return err_sys(e, "read limit %d", limits[i].resource);
		if (limit.rlim_max > limits[i].most)
			limit.rlim_max = limits[i].most;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return err_sys(e, "set limit %d", limits[i].resource);
	}
	(void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large: an error, no end */
	return 0;
}

static int stage_privileges(struct prisoner *p, struct err *e)
{
	const struct seccomp_program program = { .insns = jail_program,
						 .count = ARRAY_LEN(jail_program) };

	(void)p;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	return caps_drop(e) < 0 ? -1 : seccomp_install(&program, e);
}

static int (*const stages[])(struct prisoner *, struct err *) = {
	stage_ids, stage_root, stage_descriptors, stage_limits, stage_privileges,
};

static _Noreturn void serve(struct prisoner *p)
{
	uint8_t result[JAIL_RESULT_MAX] = { 0 };
	struct verdict v = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < ARRAY_LEN(stages) && v.error.kind == ERR_NONE; i++)
		(void)stages[i](p, &v.error);
	/* If a write fails, silence says so. */
	(void)io_write_all(p->result, &v, sizeof(v));
	if (v.error.kind == ERR_NONE) {
		p->jail->work(p->jail->arg, FOLDER_FD, IN_FD, result);
		(void)io_write_all(RESULT_FD, result, p->jail->result_len);
	}
	_exit(0);
}

/* --- the caller ------------------------------------------------------------------ */

static int become_owner(const struct jail *j, struct err *e)
{
	const struct identity owner = { .uid = j->uid, .gid = j->gid, .was_root = true,
					.why = "owner of the folder" };

	return geteuid() == 0 ? identity_become(&owner, e) : 0;
}

static int make_child(struct prisoner *p, pid_t *ret, struct err *e)
{
	struct clone_args args = { .flags = NAMESPACES, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return diagnose_clone(NAMESPACES, e);
	if (pid == 0)
		serve(p);
	*ret = (pid_t)pid;
	return 0;
}

static int explain_end(int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "the jailed process was ended by signal %d",
			       WTERMSIG(status));
	return err_set(e, ERR_SYSTEM, "the jailed process ended without a result");
}

static int read_result(const struct jail *j, int from, void *ret, bool *ret_is_whole,
		       struct err *e)
{
	struct verdict v;

	*ret_is_whole = false;
	if (io_read_full(from, &v, sizeof(v)) != sizeof(v))
		return 0;
	if (v.error.kind != ERR_NONE) {
		err_sanitize(&v.error);
		*e = v.error;
		diagnose_setup(e);
		return -1;
	}
	*ret_is_whole = io_read_full(from, ret, j->result_len) == (ssize_t)j->result_len;
	return 0;
}

static int run(const struct jail *j, void *ret, struct err *e)
{
	struct prisoner p = { .jail = j, .uid = geteuid(), .gid = getegid() };
	bool is_whole = false;
	int ends[2], status = 0;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");
	p.result = to;
	p.null = null;
	if (make_child(&p, &pid, e) < 0)
		return -1;
	own_close(&to);
	int rc = read_result(j, from, ret, &is_whole, e);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
		/* once more */
	}
	return rc == 0 && !is_whole ? explain_end(status, e) : rc;
}

int jail_run(const struct jail *j, void *ret_result, struct err *e)
{
	if (become_owner(j, e) < 0)
		return err_in(e, "unpack in a jail");
	if (fchdir(j->folder) < 0)
		return err_sys(e, "unpack in a jail: enter the folder");
	return run(j, ret_result, e) < 0 ? err_in(e, "unpack in a jail") : 0;
}
