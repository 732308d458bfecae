/* Theory of operation.
 *
 *	parent				child (new namespaces)
 *	clone3 ------------------------> start the helper: network namespaces
 *	newuidmap (ranges only) -------> wait for maps, or write them itself
 *	watch failure, channel		 open the executor on the host's paths
 *					 mounts, pivot_root, hostname
 *					 no_new_privs, Landlock
 *					 enter the network namespace, sysctls
 *					 descriptors: 0-2 null, 3 channel, 4 procfs,
 *					   5 logs
 *					 become the executor's id (ranges only)
 *					 capabilities
 *					 seccomp; its listener goes out
 *					 execveat
 *
 * Until execveat the child runs hutch's own code only; no program of the sandbox has run
 * yet.  The order of the stages is forced: mounts need CAP_SYS_ADMIN over the namespace,
 * so the capabilities are dropped late; the seccomp filter refuses half of the system
 * calls that the stages before it make, so it is installed last.  If a single id is
 * mapped, the child writes its own maps, which an unprivileged process may do
 * (user_namespaces(7)); that saves two context switches.
 *
 * With an ordinary user's --network ns:PATH, another process makes the child, from
 * within the user namespace that owns the network (make_child()).  The child's user
 * namespace is then below that one, and the child has no rights over the network. */
#include "sandbox/launch/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "egress/launch/egress.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/landlock_root.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/netns.h"
#include "sandbox/kernel/network.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/kernel/sockets.h"
#include "sandbox/monitor/trace.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/mounts.h"

/* The numbers at which the executor expects its socket, a procfs, and the folder for
 * logs (docs/protocol.md). */
#define CHANNEL_FD 3
#define PROC_FD	   4
#define LOGS_FD	   5

/* The child's ends of the pipes and sockets, and the descriptors that its stages
 * open. */
struct child {
	const struct spawn_parts *parts;
	int channel, failure, maps_ready, maps_go;
	int executor, null, proc;
	int handed[3]; /* copies of parts->stdio */
	int queues;    /* a mount of the POSIX message queues; -1: none */
	int server; /* the socket to the process that serves the root; -1: none */
	struct mounted mounted;
	struct worker helper;	       /* with a gateway */
	struct network_maker maker;    /* without one */
	uint32_t outer_uid, outer_gid; /* with a netns: the ids of this user in the user
					* namespace that owns it */
};

/* Returns whether the child is made in a network namespace of the user's. */
static bool has_netns(const struct child *c)
{
	return c->parts->netns && c->parts->netns->owner >= 0;
}

/* Needs: to be in the new namespaces.  Does: maps this process to its ids inside.
 * Leaves: all capabilities over the user namespace. */
static int stage_ids(struct child *c, struct err *e)
{
	const struct plan *p = c->parts->plan;
	struct idmap uid = p->ids.uids[0], gid = p->ids.gids[0];

	if (p->has_ranges)
		return idmaps_await(c->maps_ready, &c->maps_go, e);
	/* A map's outside is the parent of the user namespace. */
	if (has_netns(c)) {
		uid.outside = c->outer_uid;
		gid.outside = c->outer_gid;
	}
	return idmap_write_both(&uid, &gid, e);
}

static bool has_network(const struct child *c)
{
	return c->parts->plan->namespaces & CLONE_NEWNET;
}

/* The only descriptors that the child, or any process inside, ever sends out of the
 * sandbox.  The child still runs hutch's own code when it sends them. */
enum handed { HANDED_UPPER, HANDED_LISTENER, HANDED_COUNT };

static int hand_out(int failure, enum handed what, int fd, struct err *e)
{
	static const char *const names[] = {
		[HANDED_UPPER] = "the folder that the overlay writes to",
		[HANDED_LISTENER] = "the listener of the seccomp filter",
	};
	_Static_assert(ARRAY_LEN(names) == HANDED_COUNT, "a descriptor has no name");
	const char byte = (char)what;

	return fd_pass_send(failure, &byte, 1, &fd, 1) == 1
		       ? 0
		       : err_sys(e, "hand out %s", names[what]);
}

/* Makes the network namespaces, in the helper process.  hutch-gate, which gets both of
 * them, connects them while the set-up goes on; the launcher awaits its report
 * (egress.h).  The result is the descriptor of the sandbox's, which the child has, too. */
static int help(void *arg, void *result, struct err *e)
{
	const struct child *c = arg;

	AUTO_CLOSE int gateway = network_make(e);
	AUTO_CLOSE int inside = gateway < 0 ? -1 : network_make(e);
	if (inside < 0 || egress_connect(c->parts->gateway, inside, gateway, e) < 0)
		return -1;
	*(int *)result = fd_take(&inside);
	return 0;
}

static int start_helper(struct child *c, struct err *e)
{
	/* With CLONE_FILES, a descriptor that the helper opens is open in the child
	 * too. */
	const struct worker_task task = { .name = "a helper process",
					  .work = help,
					  .arg = c,
					  .result_len = sizeof(int),
					  .has_all_fds = true,
					  .flags = CLONE_FILES };

	return worker_start(&task, &c->helper, e);
}

/* Needs: all capabilities over the new user namespace, which a process has there even
 * before its ids are mapped (user_namespaces(7)).  Does: starts a helper process, which
 * makes the network namespaces, unless the plan has no network of its own.  Leaves: the
 * helper running.
 *
 * A network namespace takes about as long to make as all mounts together, so this stage is
 * the first. */
static int stage_helper(struct child *c, struct err *e)
{
	if (!has_network(c))
		return 0;
	return c->parts->gateway > 0 ? start_helper(c, e) : network_begin(&c->maker, e);
}

/* Clears a negative oom_score_adj that the child has inherited from the caller.  Such a
 * value protects a process from the OOM killer, so a cgroup at its memory limit would
 * have no process to kill (proc(5)).  Any process may raise its own value. */
static int become_killable(struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, "oom_score_adj", 64, &text, &len, e) < 0)
		return err_sys(e, "read oom_score_adj");
	return *text == '-' ? io_write_proc(AT_FDCWD, "/proc/self/oom_score_adj", "0", e)
			    : 0;
}

static bool shows_host(const struct plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].kind == STEP_BIND && !strcmp(p->steps[i].source, "/"))
			return true;
	return false;
}

/* Attaches a detached mount, which is used by its descriptor alone, over `place`, a name
 * of the old root that no later stage needs.  The mount then goes with the old root
 * (pivot.h).  A mount that is attached nowhere would go when execveat(2) closes its
 * descriptor, and the kernel would wait for a grace period of RCU, once for each mount.  On
 * failure the mount stays detached, and only that time is lost.  It also stays detached
 * where the sandbox gets a copy of the host's whole tree, with which it would be copied. */
static void attach_to_old_root(const struct child *c, int mount, const char *place)
{
	if (!shows_host(c->parts->plan))
		(void)sys_move_mount(mount, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Mounts the POSIX message queues a second time, so that a Landlock rule can allow
 * them.  A queue of mq_open(3) is a file of a mount that belongs to the ipc namespace
 * and is attached nowhere (mq_overview(7)). */
static int open_queues(struct child *c, struct err *e)
{
	struct err why;

	c->queues =
		mount_api_make("mqueue", "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &why);
	if (c->queues >= 0) {
		attach_to_old_root(c, c->queues, "/proc/sys");
		return 0;
	}
	/* ENODEV: this kernel has no message queues */
	if (why.sys == ENODEV)
		return 0;
	*e = why;
	return -1;
}

/* Needs: the host's paths, and its /proc without hutch's masks.  Does: opens the files
 * that cannot be opened once the host's paths are gone.  Leaves: their descriptors
 * open. */
static int stage_host_paths(struct child *c, struct err *e)
{
	if (c->parts->cgroup > 0 && become_killable(e) < 0)
		return -1;
	c->executor = program_seal(c->parts->executor, e);
	if (c->executor < 0)
		return -1;
	attach_to_old_root(c, c->executor, "/proc/version");
	if (c->parts->plan->has_landlock_root && open_queues(c, e) < 0)
		return -1;
	if (c->parts->has_proc && (c->proc = mounts_make_own_proc(e)) < 0)
		return -1;
	for (size_t i = 0; c->parts->stdio && i < ARRAY_LEN(c->handed); i++)
		c->handed[i] = c->parts->stdio[i];
	c->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return c->null < 0 ? err_sys(e, "open /dev/null") : 0;
}

/* Needs: CAP_SYS_ADMIN over all namespaces.  Does: makes the mounts, sets the host name.
 * Leaves: only paths and names of the sandbox in reach. */
static int stage_world(struct child *c, struct err *e)
{
	const struct plan *p = c->parts->plan;

	umask(0);
	if (mounts_run(p, c->server, &c->mounted, e) < 0)
		return -1;
	umask(022);
	if (c->mounted.upper >= 0 &&
	    hand_out(c->failure, HANDED_UPPER, c->mounted.upper, e) < 0)
		return -1;
	if (sethostname(p->hostname, strlen(p->hostname)) < 0)
		return err_sys(e, "set the hostname");
	/* until now the domain name is a copy of the host's */
	if (setdomainname("", 0) < 0)
		return err_sys(e, "clear the domain name");
	return 0;
}

/* Copies `fd` to the number `at`, without close-on-exec, so that the executor inherits
 * it.  Does nothing if `fd` is negative. */
static int place(int fd, int at, const char *what, struct err *e)
{
	if (fd < 0 || dup2(fd, at) >= 0)
		return 0;
	return err_sys(e, "set %s", what);
}

/* Needs: nothing.  Does: makes 0, 1 and 2 /dev/null, 3 the channel and, if the child has
 * them, 4 the procfs and 5 the folder for logs; all other descriptors are closed by
 * execveat.  Leaves: no other descriptor of the host for the executor. */
static int stage_descriptors(struct child *c, struct err *e)
{
	/* The descriptors are moved above the numbers that are about to be filled, so
	 * that none is overwritten while it is still needed. */
	int *const kept[] = { &c->channel, &c->failure, &c->executor, &c->null, &c->proc,
			      &c->mounted.logs, &c->handed[0], &c->handed[1],
			      &c->handed[2], &c->queues };

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		int high = *kept[i] < 0 ? -1 : fcntl(*kept[i], F_DUPFD_CLOEXEC, 10);
		if (*kept[i] >= 0 && high < 0)
			return err_sys(e, "move a descriptor");
		*kept[i] = high;
	}
	/* layer: executor-descriptors */
	if (sys_close_range(CHANNEL_FD, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return err_sys(e, "close_range");
	for (int fd = 0; fd < CHANNEL_FD; fd++)
		if (place(c->null, fd, "a standard descriptor", e) < 0)
			return -1;
	if (place(c->channel, CHANNEL_FD, "the channel", e) < 0 ||
	    place(c->proc, PROC_FD, "the procfs", e) < 0)
		return -1;
	return place(c->mounted.logs, LOGS_FD, "the folder for logs", e);
}

/* Needs: --idmap ranges.  Does: changes to the executor's id, which no command ever
 * has.  Leaves: the capabilities, which caps_reduce() reduces right after. */
static int become_executor(struct err *e)
{
	if (prctl(PR_SET_KEEPCAPS, 1) < 0)
		return err_sys(e, "prctl PR_SET_KEEPCAPS");
	if (syscall(SYS_setgroups, 0, NULL) < 0)
		return err_sys(e, "drop supplementary groups");
	if (setresgid(EXECUTOR_ID, EXECUTOR_ID, EXECUTOR_ID) < 0 ||
	    setresuid(EXECUTOR_ID, EXECUTOR_ID, EXECUTOR_ID) < 0)
		return err_sys(e, "become the executor's id");
	return 0;
}

/* Allows the root and, beside it, the files outside of the root that processes inside
 * have to open: the executor (by execveat), its mounts that are attached nowhere,
 * message queues, the host's /dev/null as a command's stdin, and the descriptors of
 * --stdio inherit. */
static int restrict_root(const struct child *c, struct err *e)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_root f = {
		.root = root,
		/* layer: abstract-sockets */
		.hides_abstract = c->parts->plan->hides_abstract,
	};

	if (root < 0)
		return err_sys(e, "open the root");
	landlock_root_add(&f, c->executor);
	landlock_root_add(&f, c->proc);
	landlock_root_add(&f, c->mounted.logs);
	landlock_root_add(&f, c->null);   /* layer: root-open-null */
	landlock_root_add(&f, c->queues); /* layer: root-open-queues */
	for (size_t i = 0; i < ARRAY_LEN(c->handed); i++)
		landlock_root_add(&f, c->handed[i]); /* layer: root-open-handed */
	return landlock_root_enter(&f, e);
}

/* Enters at most one Landlock domain.  It restricts files, or hides the host's abstract
 * sockets, or does both. */
static int enter_landlock(const struct child *c, struct err *e)
{
	if (c->parts->plan->has_landlock_root) /* layer: root-landlock */
		return restrict_root(c, e);
	return c->parts->plan->hides_abstract ? landlock_scope(e) : 0;
}

/* Needs: all mounts done.  Does: sets no_new_privs, enters the Landlock domain.  Leaves:
 * only files below the root in reach, and those of restrict_root(). */
static int stage_landlock(struct child *c, struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) /* layer: no-new-privs */
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	return enter_landlock(c, e);
}

static int await_network(struct child *c, struct err *e)
{
	AUTO_CLOSE int made = -1;

	if (c->parts->gateway <= 0)
		return network_end(&c->maker, e);
	return worker_wait(&c->helper, &made, e) < 0 ? -1 : network_enter(&made, e);
}

/* Needs: CAP_SYS_ADMIN over all namespaces.  Does: waits for the helper, enters the
 * network namespace, and sets sysctls that limit what the sandbox can use up.  Leaves:
 * only the network of the sandbox in reach.
 *
 * The mounts and Landlock come before this stage: if the helper is still at work, the child
 * sleeps, and to wake it costs more than the rest of the helper's work. */
static int stage_network(struct child *c, struct err *e)
{
	const struct plan *p = c->parts->plan;

	if (has_network(c) && await_network(c, e) < 0)
		return -1;
	return rlimits_apply_sysctls(c->mounted.sysctls, p->sysctls, p->sysctl_count, e);
}

static int install_tracing(const struct seccomp_program *filter, int *ret_listener,
			   struct err *e)
{
	struct seccomp_program tracing;

	trace_program(filter, &tracing);
	int result = seccomp_install_listening(&tracing, ret_listener, e);
	seccomp_done(&tracing);
	return result;
}

/* Installs the filter with the listener that the broker serves.  That listener also gets
 * the calls that the filter refuses, unless a filter on top of this one refuses calls
 * too. */
static int install_listener(const struct spawn_parts *parts, int *ret_listener,
			    struct err *e)
{
	AUTO_FREE struct sock_filter *telling =
		seccomp_replace_notified(parts->filter, SECCOMP_RET_USER_NOTIF);
	const struct seccomp_program notifying = { .insns = telling,
						   .count = parts->filter->count };
	struct seccomp_program notify;

	broker_program(parts->tells ? &notifying : parts->filter, &notify);
	int result = seccomp_install_killable(&notify, ret_listener, e);
	seccomp_done(&notify);
	return result;
}

static int install_listening(const struct spawn_parts *parts, int *ret_listener,
			     struct err *e)
{
	if (plan_has_broker(parts->plan))
		return install_listener(parts, ret_listener, e) < 0
			       ? err_in(e, "--protect-missing")
			       : 0;
	if (parts->trace)
		return install_tracing(parts->filter, ret_listener, e) < 0
			       ? err_in(e, "--learn")
			       : 0;
	return seccomp_install_telling(parts->filter, ret_listener, e);
}

/* Installs the filter.  The filter allows the calls that the child still makes: sending
 * the listener, and execveat. */
static int enter_filter(struct child *c, struct err *e)
{
	const struct spawn_parts *parts = c->parts;
	int fd;

	if (!parts->trace && !parts->tells && !plan_has_broker(parts->plan))
		return seccomp_install(parts->filter, e);
	if (install_listening(parts, &fd, e) < 0)
		return -1;
	AUTO_CLOSE int listener = fd;
	return listener < 0 ? 0 : hand_out(c->failure, HANDED_LISTENER, listener, e);
}

/* Needs: all mounts done.  Does: drops, for good, all privileges but the capabilities
 * that the executor needs.  Leaves: a process that, beside these and its channel, can do
 * no more than a command. */
static int stage_privileges(struct child *c, struct err *e)
{
	const struct plan *p = c->parts->plan;
	/* CAP_SYS_PTRACE: the executor pauses all commands with it, if clients can ask
	 * for a pause (executor/process/freezer.h). */
	const uint64_t tracing = c->parts->has_proc ? 1ull << CAP_SYS_PTRACE : 0;
	const uint64_t kept = plan_executor_caps(c->parts->plan) | tracing;

	if (p->has_ranges && become_executor(e) < 0)
		return -1;
	/* The death signal is set after the last change of ids, since such a change
	 * clears it (prctl(2), PR_SET_PDEATHSIG). */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) /* layer: executor-death */
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	if (p->refuses_unix && sockets_refuse_unix(e) < 0)
		return -1;
	/* layer: capabilities */
	if (caps_reduce(kept, p->root_caps, geteuid() == 0, e) < 0)
		return -1;
	return enter_filter(c, e); /* layer: seccomp */
}

static int stage_exec(struct child *c, struct err *e)
{
	char name[] = "hutch-executor", others[24];

	(void)snprintf(others, sizeof(others), "%llx",
		       (unsigned long long)c->parts->plan->other_caps);
	char *argv[] = { name, others, NULL }, *env[] = { NULL };

	(void)syscall(SYS_execveat, c->executor, "", argv, env, AT_EMPTY_PATH);
	return err_sys(e, "execute %s", c->parts->executor->path);
}

static int (*const stages[])(struct child *, struct err *) = {
	stage_helper,  stage_ids,	  stage_host_paths, stage_world, stage_landlock,
	stage_network, stage_descriptors, stage_privileges, stage_exec,
};

/* Unblocks all signals, since those that the launcher blocks for its signalfd must not
 * stay blocked inside.  The executor itself restores the default action of signals that
 * the caller ignores. */
static void unblock_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail: the arguments are
						      * valid */
}

__attribute__((noreturn)) static void run_child(struct child *c)
{
	struct err e = { 0 };

	unblock_signals();
	for (size_t i = 0; i < ARRAY_LEN(stages); i++)
		if (stages[i](c, &e) < 0)
			break;
	/* if this write fails, the parent only sees that the socket was closed */
	(void)io_write_all(c->failure, &e, sizeof(e));
	_exit(125);
}

/* Tells whether clone3(2) gives this errno only because of the cgroup. */
static bool is_about_cgroup(int sys)
{
	return sys == EACCES || sys == EBUSY || sys == ENOENT || sys == EOPNOTSUPP;
}

static int cannot_clone(const struct child *c, struct err *e)
{
	if (c->parts->cgroup <= 0 || !is_about_cgroup(errno))
		return diagnose_clone(c->parts->plan->namespaces, e);
	(void)err_sys(e, "start the sandbox in its cgroup");
	return err_remedy(
		e, "hutch itself must live in the same delegated cgroup; hutch doctor "
		   "says how a shell gets into one");
}

/* The child, as its parent sees it. */
struct made {
	pid_t pid;
	int pidfd;
};

/* `more` is 0, or CLONE_PARENT, by which the caller makes a sibling.  The sibling then
 * sends its parent the same signal as the caller does (clone(2)). */
static int clone_child(struct child *c, uint64_t more, struct made *ret, struct err *e)
{
	struct clone_args args = {
		/* The network namespace is made later, by the helper (network.h). */
		.flags = (c->parts->plan->namespaces & ~(uint64_t)CLONE_NEWNET) |
			 CLONE_PIDFD | more,
		.pidfd = (uintptr_t)&ret->pidfd,
		.exit_signal = more ? 0 : SIGCHLD,
	};

	/* With CLONE_NEWCGROUP the cgroup becomes the root of the new
	 * namespace. */
	if (c->parts->cgroup > 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)c->parts->cgroup;
	}
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return cannot_clone(c, e);
	if (pid == 0)
		run_child(c);
	ret->pid = (pid_t)pid;
	return 0;
}

/* Makes the child from within the network namespace. */
static int make_sibling(void *arg, void *result, struct err *e)
{
	struct child *c = arg;

	if (netns_enter(c->parts->netns, e) < 0)
		return -1;
	c->outer_uid = geteuid();
	c->outer_gid = getegid();
	return clone_child(c, CLONE_PARENT, result, e);
}

/* Makes the child of this process.  If the child is to be in a network namespace of the
 * user's, another process enters that namespace and makes the child: this one stays
 * where it is.  Both have one table of descriptors, so the pidfd is good here. */
static int make_child(struct child *c, struct sandbox *s, struct err *e)
{
	const struct worker_task sibling = {
		.name = "the process that enters the network "
			"namespace",
		.work = make_sibling,
		.arg = c,
		.result_len = sizeof(struct made),
		.has_all_fds = true,
		.flags = CLONE_FILES
	};
	struct made made = { 0 };

	if (has_netns(c) ? worker_run(&sibling, &made, e) < 0
			 : clone_child(c, 0, &made, e) < 0)
		return -1;
	s->pid = made.pid;
	s->pidfd = made.pidfd;
	return 0;
}

/* Makes the pipes and socket pairs, then clones the child.  On return the parent has
 * closed the child's ends. */
static int spawn(const struct spawn_parts *parts, struct sandbox *s, struct err *e)
{
	int pair[2], failure[2], maps[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make the channel");
	s->channel = pair[0];
	AUTO_CLOSE int child_channel = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, failure) < 0)
		return err_sys(e, "make a pair of sockets");
	s->failure = failure[0];
	AUTO_CLOSE int child_failure = failure[1];
	if (parts->plan->has_ranges && pipe2(maps, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int maps_ready = maps[0];
	AUTO_CLOSE int maps_go = maps[1];
	if (parts->server && root_fuse_start(parts->plan, parts->server, &s->fuse, e) < 0)
		return -1;
	AUTO_CLOSE int server = fd_take(&s->fuse.socket);

	struct child c = { .parts = parts,
			   .channel = child_channel,
			   .failure = child_failure,
			   .maps_ready = maps_ready,
			   .maps_go = maps_go,
			   .executor = -1,
			   .null = -1,
			   .proc = -1,
			   .server = server,
			   .handed = { -1, -1, -1 },
			   .queues = -1,
			   .mounted = { .logs = -1, .upper = -1, .sysctls = -1 } };

	if (make_child(&c, s, e) < 0)
		return -1;
	const struct broker_parts names = { .plan = parts->plan, .stdio = parts->stdio,
					    .pidfd = s->pidfd, .cgroup = parts->cgroup };
	if (plan_has_broker(parts->plan) && broker_start(&names, &s->broker, e) < 0)
		return -1;
	if (!parts->plan->has_ranges)
		return 0;
	return idmaps_install(&parts->plan->ids, s->pid, maps_go, e);
}

void sandbox_init(struct sandbox *s)
{
	*s = (struct sandbox){ .pidfd = -1, .channel = -1, .failure = -1, .upper = -1 };
	root_fuse_init(&s->fuse);
	denials_init(&s->denials);
	broker_init(&s->broker);
}

void sandbox_done(struct sandbox *s)
{
	if (!s)
		return;
	if (s->pid > 0) {
		/* the child is not reaped yet, so no other process can have its
		 * number */
		(void)kill(s->pid, SIGKILL);
		root_fuse_kill(&s->fuse);
		(void)worker_reap(s->pid);
	}
	broker_done(&s->broker);
	root_fuse_done(&s->fuse);
	own_close(&s->pidfd);
	own_close(&s->channel);
	own_close(&s->failure);
	own_close(&s->upper);
	denials_done(&s->denials);
	s->pid = 0;
}

int spawn_sandbox(const struct spawn_parts *parts, struct sandbox *ret, struct err *e)
{
	struct sandbox s;

	sandbox_init(&s);
	s.denials.filter = parts->filter;
	s.denials.trace = parts->trace;
	s.denials.nests = parts->plan->nests;
	if (spawn(parts, &s, e) < 0) {
		sandbox_done(&s);
		return -1;
	}
	if (parts->trace)
		parts->trace->init = s.pid;
	*ret = s;
	ret->denials.broker = ret->broker.pid ? &ret->broker : NULL;
	return 0;
}

/* Takes the filter's seccomp listener, for the broker and for reports of refused calls
 * (denials.h).  If the broker cannot take it, the broker is killed, and instance.h ends
 * the sandbox for that. */
static void take_listener(struct sandbox *s, int fd)
{
	struct err e;

	if (s->broker.pid && broker_listen(&s->broker, fd, &e) < 0)
		/* the broker is not reaped yet, so no other process can have its
		 * number */
		(void)kill(s->broker.pid, SIGKILL);
	denials_listen(&s->denials, fd);
}

static void take_handed(struct sandbox *s, char what, int fd)
{
	if (what == HANDED_UPPER && s->upper < 0)
		s->upper = fd;
	else if (what == HANDED_LISTENER && s->denials.listener < 0)
		take_listener(s, fd);
	else
		own_close(&fd);
}

/* Reads one message of the child: a byte with a descriptor, or an error.  If the child has
 * closed the socket instead, the set-up has ended. */
enum spawn_news spawn_hear(struct sandbox *s, struct err *ret_cause)
{
	union {
		char what;
		struct err cause;
	} said;
	int fd;
	ssize_t n = fd_pass_receive(s->failure, &said, sizeof(said), &fd);

	if (fd >= 0 && n == 1)
		take_handed(s, said.what, fd_take(&fd));
	own_close(&fd);
	if (n == 1 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return SPAWN_GOES_ON;
	if (n != (ssize_t)sizeof(said.cause))
		return SPAWN_DONE;
	err_sanitize(&said.cause);
	diagnose_setup(&said.cause);
	*ret_cause = said.cause;
	return SPAWN_GAVE_UP;
}
