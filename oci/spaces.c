#include "oci/spaces.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/procfs.h"

static const uint64_t flags_of[SPACE_COUNT] = {
	[SPACE_USER] = CLONE_NEWUSER,	  [SPACE_PID] = CLONE_NEWPID,
	[SPACE_NETWORK] = CLONE_NEWNET,	  [SPACE_IPC] = CLONE_NEWIPC,
	[SPACE_UTS] = CLONE_NEWUTS,	  [SPACE_MOUNT] = CLONE_NEWNS,
	[SPACE_CGROUP] = CLONE_NEWCGROUP, [SPACE_TIME] = CLONE_NEWTIME,
};

/* Names below /proc/PID/ns; for `pid` and `time` those that children get. */
static const char *const files[SPACE_COUNT] = {
	[SPACE_USER] = "user",	   [SPACE_PID] = "pid",	  [SPACE_NETWORK] = "net",
	[SPACE_IPC] = "ipc",	   [SPACE_UTS] = "uts",	  [SPACE_MOUNT] = "mnt",
	[SPACE_CGROUP] = "cgroup", [SPACE_TIME] = "time",
};

bool spaces_in_userns(void)
{
	char text[128] = "";
	unsigned inside, outside, count;

	AUTO_CLOSE int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) <= 0)
		return false;
	return sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside ||
	       outside || count != UINT32_MAX;
}

/* clone3(2) without a stack is fork(2) with flags.  For a process that is born in its cgroup
 * (since 5.7) the kernel waits for no grace period of RCU, which moving one takes.  Where that
 * cannot be, the process is cloned as any other, and cgroups_join() says why. */
static pid_t clone_with(uint64_t flags, bool is_sibling, int cgroup)
{
	struct clone_args args = { .flags = flags | (is_sibling ? CLONE_PARENT : 0),
				   .exit_signal = is_sibling ? 0 : SIGCHLD };
	struct clone_args inside = args;

	inside.flags |= CLONE_INTO_CGROUP;
	inside.cgroup = (uint64_t)cgroup;
	const pid_t pid =
		cgroup < 0 ? -1 : (pid_t)syscall(SYS_clone3, &inside, sizeof(inside));
	return pid < 0 ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : pid;
}

static uint64_t new_flags(const struct config *c)
{
	uint64_t flags = 0;

	for (int i = 0; i < SPACE_COUNT; i++)
		if (i != SPACE_CGROUP && c->spaces[i].is_listed && !c->spaces[i].path)
			flags |= flags_of[i];
	return flags;
}

/* Opens the namespaces to be joined. */
static int open_joined(const struct config *c, int fds[SPACE_COUNT], bool *ret_any,
		       struct err *e)
{
	*ret_any = false;
	for (int i = 0; i < SPACE_COUNT; i++)
		fds[i] = -1;
	for (int i = 0; i < SPACE_COUNT; i++) {
		if (!c->spaces[i].path)
			continue;
		*ret_any = true;
		fds[i] = open(c->spaces[i].path, O_RDONLY | O_CLOEXEC);
		if (fds[i] < 0)
			return err_sys(e, "open the namespace %s", c->spaces[i].path);
	}
	return 0;
}

/* A namespace that the joined user namespace owns can be entered only after it, and one
 * of the host's only before it: so all are tried before, and what failed after. */
static int join(int fds[SPACE_COUNT], struct err *e)
{
	for (int i = SPACE_COUNT; i-- > 0;)
		if (i != SPACE_USER && fds[i] >= 0 &&
		    setns(fds[i], (int)flags_of[i]) == 0)
			own_close(&fds[i]);
	if (fds[SPACE_USER] >= 0 && setns(fds[SPACE_USER], CLONE_NEWUSER))
		return err_sys(e, "join the user namespace");
	for (int i = SPACE_COUNT; i-- > 0;)
		if (i != SPACE_USER && fds[i] >= 0 && setns(fds[i], (int)flags_of[i]))
			return err_sys(e, "join the %s namespace", files[i]);
	return 0;
}

/* The way into namespaces that exist. */
struct beyond {
	int (*enter)(void *arg, struct err *e);
	void *arg;
};

struct passage {
	struct err err;
	pid_t pid;
};

/* The process in between enters namespaces, for which its children count (pid) or for which
 * it must not be the caller itself, and clones the container's process as its sibling. */
static pid_t clone_beyond(const struct beyond *b, uint64_t flags, int cgroup,
			  struct err *e)
{
	struct passage answer = { .pid = 0 };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	const pid_t between = fork();
	if (between < 0)
		return err_sys(e, "fork");
	if (between == 0) {
		answer.pid = b->enter(b->arg, &answer.err)
				     ? -1
				     : clone_with(flags, true, cgroup);
		if (answer.pid == 0)
			return 0;
		if (answer.pid < 0 && !answer.err.kind)
			(void)err_sys(&answer.err, "clone the container's process");
		(void)!write(to, &answer, sizeof(answer)); /* the reader sees a lack */
		_exit(0);
	}
	own_close(&to); /* so that the reader sees the writer's end */
	const ssize_t n = io_read_full(from, &answer, sizeof(answer));
	(void)worker_reap(between);
	if (n != sizeof(answer))
		return err_set(e, ERR_GONE,
			       "the process that joins namespaces has ended");
	if (answer.pid < 0)
		*e = answer.err;
	return answer.pid;
}

static bool has_clocks(const struct config *c)
{
	return c->clocks[CLOCK_OF_MONOTONIC].is_set ||
	       c->clocks[CLOCK_OF_BOOTTIME].is_set;
}

/* Makes a time namespace for the children of this process, and sets its clocks: the first
 * process in it fixes them. */
static int set_clocks(const struct config *c, struct err *e)
{
	static const int numbers[CLOCK_COUNT] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	char text[64];

	if (unshare(CLONE_NEWTIME))
		return err_sys(e, "make a time namespace");
	for (int i = 0; i < CLOCK_COUNT; i++) {
		const struct config_clock *k = &c->clocks[i];
		(void)snprintf(text, sizeof(text), "%d %lld %u", numbers[i],
			       (long long)k->secs, k->nanosecs); /* fits */
		/* The mounts may be those of another container by now. */
		if (k->is_set && procfs_write("self/timens_offsets", text, e))
			return -1;
	}
	return 0;
}

/* The namespaces to be entered on the way to the container's process. */
struct way {
	const struct config *config;
	int fds[SPACE_COUNT];
};

static int go(void *arg, struct err *e)
{
	struct way *w = arg;

	if (join(w->fds, e))
		return -1;
	return has_clocks(w->config) ? set_clocks(w->config, e) : 0;
}

pid_t spaces_clone(const struct config *c, int cgroup, struct err *e)
{
	struct way w = { .config = c };
	const struct beyond b = { go, &w };
	bool has_joined;
	pid_t pid = -1;

	if (open_joined(c, w.fds, &has_joined, e) == 0) {
		const bool is_direct = !has_joined && !has_clocks(c);
		const uint64_t flags = new_flags(c) &
				       ~(has_clocks(c) ? (uint64_t)CLONE_NEWTIME : 0);
		pid = is_direct ? clone_with(flags, false, cgroup)
				: clone_beyond(&b, flags, cgroup, e);
		if (pid < 0 && is_direct)
			(void)err_sys(e, "clone the container's process");
	}
	for (int i = 0; i < SPACE_COUNT; i++)
		own_close(&w.fds[i]);
	return pid;
}

/* --- ids ---------------------------------------------------------------------------- */

static int write_maps(pid_t pid, const char *file, const struct idmap *maps, size_t count,
		      struct err *e)
{
	AUTO_FREE char *path = text_format("/proc/%d/%s", (int)pid, file);
	char text[4096];
	size_t len = 0;

	/* One write(2): a second one fails with EPERM.  The kernel takes up to a page. */
	for (size_t i = 0; i < count; i++) {
		const int n = snprintf(text + len, sizeof(text) - len, "%u %u %u\n",
				       maps[i].inside, maps[i].outside, maps[i].count);
		if ((size_t)n >= sizeof(text) - len)
			return err_set(e, ERR_LIMIT, "linux.%sMappings: too many",
				       *file == 'u' ? "uid" : "gid");
		len += (size_t)n;
	}
	return io_write_proc(AT_FDCWD, path, text, e);
}

static bool is_own_id(const struct idmap *maps, size_t count, uint32_t own)
{
	return count == 1 && maps[0].count == 1 && maps[0].outside == own;
}

static int map_both(pid_t pid, const struct idmap *uids, size_t uid_count,
		    const struct idmap *gids, size_t gid_count, struct err *e)
{
	if (geteuid() == 0)
		return write_maps(pid, "uid_map", uids, uid_count, e) ||
				       write_maps(pid, "gid_map", gids, gid_count, e)
			       ? -1
			       : 0;
	if (is_own_id(gids, gid_count, getegid())) {
		AUTO_FREE char *deny = text_format("/proc/%d/setgroups", (int)pid);
		if (io_write_proc(AT_FDCWD, deny, "deny", e) ||
		    write_maps(pid, "gid_map", gids, gid_count, e))
			return -1;
	} else if (idmap_write_helper("newgidmap", pid, gids, gid_count, e)) {
		return -1;
	}
	return is_own_id(uids, uid_count, geteuid())
		       ? write_maps(pid, "uid_map", uids, uid_count, e)
		       : idmap_write_helper("newuidmap", pid, uids, uid_count, e);
}

int spaces_map_ids(const struct config *c, pid_t pid, struct err *e)
{
	if (!c->spaces[SPACE_USER].is_listed || c->spaces[SPACE_USER].path)
		return 0;
	if (!c->uid_count || !c->gid_count)
		return err_set(e, ERR_USAGE,
			       "config.json.linux: a new user namespace takes "
			       "uidMappings and gidMappings");
	return map_both(pid, c->uids, c->uid_count, c->gids, c->gid_count, e);
}

int spaces_become_root(const struct config *c, struct err *e)
{
	if (!c->spaces[SPACE_USER].is_listed)
		return 0;
	/* An id that is not mapped stays the overflow id, with all capabilities in the
	 * namespace; files that it makes would belong to no one, so that is an error
	 * only where root is mapped. */
	if ((setresgid(0, 0, 0) || setresuid(0, 0, 0)) && errno != EINVAL)
		return err_sys(e, "become root in the container's user namespace");
	return 0;
}

int spaces_make_userns(const struct idmap *uids, size_t uid_count,
		       const struct idmap *gids, size_t gid_count, struct err *e)
{
	const pid_t pid = clone_with(CLONE_NEWUSER, false, -1);
	int rc;

	if (pid < 0)
		return err_sys(e, "make a user namespace for a mount");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the parent kills it, too */
		for (;;)
			(void)pause();
	}
	AUTO_FREE char *path = text_format("/proc/%d/ns/user", (int)pid);
	rc = map_both(pid, uids, uid_count, gids, gid_count, e);
	AUTO_CLOSE int fd = rc ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (!rc && fd < 0)
		rc = err_sys(e, "open %s", path);
	(void)kill(pid, SIGKILL); /* it is this process's child, and not yet reaped */
	(void)worker_reap(pid);	  /* its end is all it has to tell */
	return rc ? -1 : fd_take(&fd);
}

/* --- exec --------------------------------------------------------------------------- */

/* Compares a namespace of the process with this process's own.  A kernel may be built
 * without one of the kinds, which setns(2) would refuse. */
static bool is_other(pid_t pid, const char *file)
{
	AUTO_FREE char *theirs = text_format("/proc/%d/ns/%s", (int)pid, file);
	AUTO_FREE char *ours = text_format("/proc/self/ns/%s", file);
	struct stat a, b;

	if (stat(ours, &b))
		return errno != ENOENT;
	return stat(theirs, &a) || a.st_ino != b.st_ino;
}

struct entry {
	int process, flags;
	int root; /* the container's root; -1: the mount namespace brings it */
	const struct spaces_before *before;
};

/* Opens the root of the container's process, which may be that of no mount namespace. */
static int open_root(pid_t pid, struct err *e)
{
	AUTO_FREE char *path = text_format("/proc/%d/root", (int)pid);
	const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open the container's root") : fd;
}

static int enter(void *arg, struct err *e)
{
	const struct entry *n = arg;

	if (n->before->does(n->before->arg, e))
		return -1;
	/* Before a process of the container can see this one (CVE-2016-9962). */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* can't fail */
	if (n->flags && setns(n->process, n->flags))
		return err_sys(e, "join the container's namespaces");
	return n->root >= 0 && (fchdir(n->root) || chroot("."))
		       ? err_sys(e, "enter the container's root")
		       : 0;
}

pid_t spaces_join(pid_t pid, const struct spaces_before *before, int cgroup,
		  struct err *e)
{
	AUTO_CLOSE int process = sys_pidfd_open(pid, 0);
	struct entry n = { process, 0, -1, before };
	const struct beyond b = { enter, &n };

	if (process < 0)
		return err_sys(e, "open the container's process");
	for (int i = 0; i < SPACE_COUNT; i++)
		if (is_other(pid, files[i]))
			n.flags |= (int)flags_of[i];
	/* setns(2) sets the root to that of the mount namespace.  This is the host's if the
	 * container shares the namespace, whether or not the caller is in it. */
	const bool takes_root = before->takes_root || !(n.flags & CLONE_NEWNS);
	AUTO_CLOSE int root = takes_root ? open_root(pid, e) : -1;
	if (root < 0 && takes_root)
		return -1;
	n.root = root;
	return clone_beyond(&b, 0, cgroup, e);
}
