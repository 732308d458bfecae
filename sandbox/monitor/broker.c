#include "sandbox/monitor/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/monitor/broker_parts.h"
#include "sandbox/plan/plan.h"

static const struct sock_filter broker_filter[] = {
#include "gen/seccomp_broker.h"
};

/* --- the broker ----------------------------------------------------------------------- */

/* The numbers of the descriptors that the broker keeps from its start. */
enum { SOCKET = 3, PIDFD };

struct start {
	const struct broker_parts *parts;
	pid_t supervisor;
};

static int place_descriptors(int socket, int pidfd, struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high[] = { fcntl(socket, F_DUPFD_CLOEXEC, 10),
		       fcntl(pidfd, F_DUPFD_CLOEXEC, 10) };

	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return err_sys(e, "set a standard descriptor");
	if (dup3(high[0], SOCKET, O_CLOEXEC) < 0 || dup3(high[1], PIDFD, O_CLOEXEC) < 0)
		return err_sys(e, "set a descriptor");
	return sys_close_range(PIDFD + 1, ~0u, 0) < 0 ? err_sys(e, "close_range") : 0;
}

/* Waits for the supervisor's next message and the descriptor that came with
 * it.  Ends this process when the supervisor has ended. */
static size_t await(void *to, size_t size, int *ret_fd)
{
	struct pollfd p = { .fd = SOCKET, .events = POLLIN };
	ssize_t n;

	do {
		(void)poll(&p, 1, -1);
		n = fd_pass_receive(SOCKET, to, size, ret_fd);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n <= 0)
		_exit(0);
	return (size_t)n;
}

static int open_host(struct broker_work *w, struct err *e)
{
	w->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->proc < 0 ? err_sys(e, "open /proc") : 0;
}

/* Enters all namespaces of the sandbox, and so its root, except the pid namespace.
 * The mount namespace alone is not enough: some files of /proc show the namespaces of
 * the process that opens them (/proc/sys/net).  In the pid namespace, processes
 * inside could see the broker; broker_parts.h says how files of /proc are opened
 * instead. */
static int join(const struct plan *p, struct err *e)
{
	if (syscall(SYS_setns, PIDFD, (int)(p->namespaces & ~(uint64_t)CLONE_NEWPID)) < 0)
		return err_sys(e, "enter the sandbox's namespaces");
	return 0;
}

/* Notes down a mount that the plan has made.  A mount of a host folder that the user
 * named counts as shown and must be there, since a protected path may lie in it.  Any
 * other mount may be missing, or closed to the broker. */
static int know_mount(struct broker_work *w, const struct step *s, struct err *e)
{
	const bool is_shown = s->kind == STEP_BIND && s->from;
	AUTO_CLOSE int fd = open(s->target, O_PATH | O_CLOEXEC);
	struct statx is;

	if (fd < 0 || !spot_look(fd, &is))
		return is_shown ? err_sys(e, "look at the mount %.300s", s->target) : 0;
	w->mounts[w->mount_count++] = is.stx_mnt_id;
	if (is_shown)
		w->shown[w->shown_count++] = (struct shown){ fd_take(&fd), is.stx_mnt_id,
							     s->source };
	return 0;
}

static int know_mounts(struct broker_work *w, const struct plan *p, struct err *e)
{
	w->shown = mem_zeroed(p->count, sizeof(*w->shown));
	w->mounts = mem_zeroed(p->count, sizeof(*w->mounts));
	for (size_t i = 0; i < p->count; i++)
		if (p->steps[i].target && know_mount(w, &p->steps[i], e) < 0)
			return -1;
	return 0;
}

/* Leaves the broker the capabilities of a process inside, CAP_SYS_PTRACE to look at
 * such processes, and only the system calls of the broker's filter. */
static int confine(const struct broker_work *w, pid_t supervisor, struct err *e)
{
	const struct seccomp_program program = { .insns = broker_filter,
						 .count = ARRAY_LEN(broker_filter) };

	if (caps_keep(w->caps | 1ull << CAP_SYS_PTRACE, e) < 0)
		return -1;
	/* The soft limit of open descriptors is raised to the hard one now, since
	 * fd_pass_send() could not raise it under the filter. */
	if (rlimits_lower(RLIMIT_NOFILE, UINT64_MAX, e) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0) /* layer: broker-undumpable */
		return err_sys(e, "prctl");
	/* The death signal is set after the last change of the process's credentials,
	 * which would clear it (prctl(2)). */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	if (getppid() != supervisor)
		_exit(0);
	return seccomp_install(&program, e); /* layer: broker-seccomp */
}

static _Noreturn void be_opener(struct broker_work *w, int socket, pid_t broker)
{
	struct err e;

	(void)close(w->proc); /* the opener's children are in the sandbox and must not
			       * have the host's /proc */
	if (syscall(SYS_setns, PIDFD, CLONE_NEWPID) < 0 ||
	    sys_close_range(SOCKET, PIDFD, 0) < 0 || confine(w, broker, &e) < 0)
		_exit(125);
	inside_serve(w, socket);
}

static int start_opener(struct broker_work *w, struct err *e)
{
	const pid_t broker = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a pair of sockets");
	w->opener = pair[0];
	AUTO_CLOSE int theirs = pair[1];
	const pid_t pid = fork();
	if (pid == 0) {
		(void)close(w->opener); /* the broker must be the only holder of its
					 * end, so that the socket closes with the
					 * broker */
		be_opener(w, theirs, broker);
	}
	(void)close(PIDFD);
	return pid < 0 ? err_sys(e, "start the process that opens files of /proc") : 0;
}

static int begin(struct broker_work *w, const struct start *s, struct err *e)
{
	char byte;

	if (open_host(w, e) < 0)
		return -1;
	while (w->listener < 0)
		(void)await(&byte, 1, &w->listener);
	if (join(s->parts->plan, e) < 0 || start_opener(w, e) < 0 ||
	    know_mounts(w, s->parts->plan, e) < 0)
		return -1;
	w->uid = geteuid();
	w->protect_missing = protect_missing_new(s->parts->plan);
	return confine(w, s->supervisor, e);
}

static void calm_signals(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL); /* signal(2) fails for SIGKILL and
					       * SIGSTOP */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* valid arguments */
}

static _Noreturn void serve(const struct start *s, int socket)
{
	struct broker_work w = { .listener = -1, .caps = s->parts->plan->root_caps };
	struct seccomp_notif call;
	struct err e = { 0 };
	int none;

	calm_signals();
	for (size_t i = 0; s->parts->stdio && i < ARRAY_LEN(w.handed); i++)
		(void)spot_look(s->parts->stdio[i], &w.handed[i]); /* on failure: zero */
	/* A session of its own keeps the terminal of hutch's caller out of the
	 * broker's reach, and a Ctrl-C there from ending the broker. */
	(void)setsid(); /* setsid(2) cannot fail: a new process leads no group */
	if (place_descriptors(socket, s->parts->pidfd, &e) < 0 || begin(&w, s, &e) < 0) {
		(void)io_write_all(SOCKET, &e, sizeof(e)); /* if the write fails, the
							    * supervisor still sees
							    * that the broker has ended */
		_exit(125);
	}
	for (;;)
		if (await(&call, sizeof(call), &none) == sizeof(call))
			broker_do(&w, &call);
}

/* --- the supervisor ------------------------------------------------------------------- */

void broker_init(struct broker *d)
{
	*d = (struct broker){ .socket = -1 };
}

void broker_done(struct broker *d)
{
	own_close(&d->socket);
	if (d->pid <= 0)
		return;
	(void)kill(d->pid, SIGKILL); /* the broker is our child and not yet reaped, so
				      * its pid is still its own */
	(void)worker_reap(d->pid);
	d->pid = 0;
}

int broker_start(const struct broker_parts *parts, struct broker *ret, struct err *e)
{
	const struct start s = { parts, getpid() };
	struct clone_args args = { .exit_signal = SIGCHLD };
	int pair[2];

	if (parts->cgroup > 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)parts->cgroup;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a pair of sockets");
	ret->socket = pair[0];
	AUTO_CLOSE int theirs = pair[1];
	const long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		serve(&s, theirs);
	if (pid < 0)
		return err_sys(e, "start the process that makes names for the inside");
	ret->pid = (pid_t)pid;
	return 0;
}

int broker_listen(struct broker *d, int listener, struct err *e)
{
	if (fd_pass_send(d->socket, "", 1, &listener, 1) == 1)
		return 0;
	return err_sys(e, "hand on the listener of the seccomp filter");
}

void broker_flush(struct broker *d)
{
	if (!d->is_held)
		return;
	d->is_held = fd_pass_send(d->socket, &d->held, sizeof(d->held), NULL, 0) < 0 &&
		     (errno == EAGAIN || errno == EINTR);
}

void broker_hand(struct broker *d, const struct seccomp_notif *call)
{
	d->held = *call;
	d->is_held = true;
	broker_flush(d); /* if the broker has ended, poll(2) on broker_watch() reports
			  * it */
}

struct pollfd broker_watch(const struct broker *d)
{
	const short out = d->is_held ? POLLOUT : 0;

	return (struct pollfd){ .fd = d->socket, .events = (short)(POLLIN | out) };
}

void broker_explain(struct broker *d, struct err *e)
{
	struct err cause;

	const bool has_cause = recv(d->socket, &cause, sizeof(cause), MSG_DONTWAIT) ==
			       (ssize_t)sizeof(cause);
	own_close(&d->socket);
	(void)kill(d->pid, SIGKILL); /* the broker may have ended, but it is our child
				      * and not yet reaped, so no other process has its
				      * pid */
	const int status = worker_reap(d->pid);
	d->pid = 0;
	if (has_cause) {
		err_sanitize(&cause);
		*e = cause;
	} else if (WIFSIGNALED(status)) {
		(void)err_set(e, ERR_SYSTEM,
			      "the process that makes names for the inside was "
			      "ended by signal %d",
			      WTERMSIG(status));
	} else {
		(void)err_set(e, ERR_SYSTEM,
			      "the process that makes names for the inside has "
			      "ended");
	}
	(void)err_in(e, "--protect-missing");
}
