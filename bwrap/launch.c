#include "bwrap/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_keep.h"
#include "base/fd_pass.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "bwrap/args.h"
#include "bwrap/child.h"
#include "bwrap/message.h"
#include "bwrap/namespaces.h"
#include "bwrap/privileges.h"
#include "bwrap/reaper.h"
#include "bwrap/status.h"

/* The launcher's ends of the pipes, and the child. */
struct launch {
	struct child child;
	int go, report, ended; /* owned; -1: none */
	pid_t parent;	       /* the process that started bwrap */
	pid_t pid;
	int pidfd; /* owned */
};

static int make_pipe(int *ret_read, int *ret_write, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

/* Makes the pipes that the options need: each costs a launch some time. */
static int open_pipes(struct launch *l, struct err *e)
{
	const struct args *a = l->child.args;

	if ((a->info >= 0 || a->json_status >= 0) &&
	    make_pipe(&l->child.go, &l->go, e) < 0)
		return -1;
	if (a->json_status >= 0 && make_pipe(&l->report, &l->child.report, e) < 0)
		return -1;
	if (a->unshare_pid && child_has_reaper(a) &&
	    make_pipe(&l->ended, &l->child.ended, e) < 0)
		return -1;
	if (a->die_with_parent && (l->child.alive = sys_pidfd_open(getpid(), 0)) < 0)
		return err_sys(e, "pidfd_open");
	return 0;
}

static void close_childs(struct launch *l)
{
	own_close(&l->child.go);
	own_close(&l->child.report);
	own_close(&l->child.ended);
	own_close(&l->child.alive);
}

/* clone(2) serves where a filter answers clone3(2) with ENOSYS, as those of containers
 * do: they cannot see its flags. */
static long clone_by(uint64_t flags, int *ret_pidfd)
{
	struct clone_args args = { .flags = flags | CLONE_PIDFD,
				   .pidfd = (uintptr_t)ret_pidfd,
				   .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
	const long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid >= 0 || errno != ENOSYS)
		return pid;
	return syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL,
		       NULL);
}

static int clone_child(struct launch *l, uint64_t more, struct err *e)
{
	const long pid = clone_by(l->child.namespaces->flags | more, &l->pidfd);

	if (pid < 0)
		return namespaces_explain(l->child.namespaces, e);
	if (pid == 0) {
		own_close(&l->go);
		own_close(&l->report);
		own_close(&l->ended);
		child_run(&l->child);
	}
	l->pid = (pid_t)pid;
	return 0;
}

/* The process that makes the child as its sibling: sends its pidfd, or prints why there
 * is none. */
static __attribute__((noreturn)) void make_sibling(struct launch *l, int to)
{
	struct err e = { 0 };

	if (clone_child(l, CLONE_PARENT, &e) == 0)
		_exit(fd_pass_send(to, "", 1, &l->pidfd, 1) == 1 ? 0 : 1);
	message_error(&e, l->child.args->level_prefix);
	_exit(1);
}

/* Returns the pid of a pidfd's process, as this process sees it; 0: it has ended. */
static pid_t pid_of(int pidfd)
{
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	const char *line = strstr(text, "\nPid:");
	const long pid = line ? strtol(line + 5, NULL, 10) : 0;
	return pid > 0 ? (pid_t)pid : 0;
}

/* A process whose children are in another pid namespace can make no new one
 * (pid_namespaces(7)).  So with --pidns and --unshare-pid a process that is in the former
 * makes the child, as a sibling of its own. */
static int make_below(struct launch *l, struct err *e)
{
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(e, "make a socket");
	AUTO_CLOSE int mine = ends[0];
	AUTO_CLOSE int its = ends[1];
	const pid_t between = fork();
	if (between < 0)
		return err_sys(e, "fork into --pidns");
	if (between == 0)
		make_sibling(l, its);
	if (worker_reap(between) != 0 || fd_pass_receive(mine, &byte, 1, &l->pidfd) != 1)
		return err_set(e, ERR_SYSTEM, "no child was made below --pidns");
	l->pid = pid_of(l->pidfd);
	return l->pid ? 0 : err_set(e, ERR_GONE, "the child has ended");
}

/* Tells the caller of the child, and gives up all rights over it. */
static int let_go(struct launch *l, struct err *e)
{
	const struct args *a = l->child.args;
	char byte;

	if (status_begin(a, l->pid, l->child.namespaces->flags, e) < 0)
		return -1;
	if (privileges_reduce(0, e) < 0 || privileges_show(e) < 0)
		return -1;
	if (a->die_with_parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* cannot fail */
		if (getppid() != l->parent)
			return err_set(e, ERR_GONE, "the parent has ended");
	}
	if (a->userns_block >= 0)
		(void)io_read_full(a->userns_block, &byte, 1); /* its end counts, too */
	/* ignored: the child has printed why it ended */
	if (l->go >= 0)
		(void)io_write_all(l->go, "", 1);
	return 0;
}

/* Waits for the command's end, which the reaper tells, or for that of the child. */
static int await_end(struct launch *l)
{
	struct pollfd fds[] = { { .fd = l->ended, .events = POLLIN },
				{ .fd = l->pidfd, .events = POLLIN } };
	int status;

	for (;;) {
		(void)poll(fds, ARRAY_LEN(fds), -1); /* only a signal ends it early */
		/* The reaper ends right behind the command, so its word comes first. */
		if ((fds[0].revents & POLLIN) &&
		    io_read_full(l->ended, &status, sizeof(status)) == sizeof(status))
			return status;
		if (fds[1].revents)
			return worker_reap(l->pid);
		if (fds[0].revents)
			fds[0].fd = -1;
	}
}

/* Tells the caller whether the command was started, and how it ended. */
static void tell_end(const struct launch *l, int status)
{
	const struct args *a = l->child.args;
	struct err said[2];
	ssize_t len;

	if (l->report < 0)
		return;
	/* The pipe is empty and open while the command's other processes live. */
	(void)fcntl(l->report, F_SETFL, O_NONBLOCK);
	len = read(l->report, said, sizeof(said));
	if (len == sizeof(said[0]) && said[0].kind == ERR_NONE)
		status_end(a, status);
	else if (len >= (ssize_t)sizeof(said[0]))
		status_error(a, &said[len / (ssize_t)sizeof(said[0]) - 1]);
}

static int run(struct launch *l, struct err *e)
{
	const struct args *a = l->child.args;

	if (a->pidns >= 0 && a->unshare_pid ? make_below(l, e) < 0
					    : clone_child(l, 0, e) < 0)
		return -1;
	close_childs(l);
	/* The reader of a pipe may have gone: the child's end then says why. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (let_go(l, e) < 0) {
		(void)kill(l->pid, SIGKILL);
		return -1;
	}
	/* The descriptors that the caller had open are for the command alone. */
	const int kept[] = { l->report, l->ended, l->pidfd, a->json_status };
	if (fd_keep(kept, ARRAY_LEN(kept)) < 0)
		return err_sys(e, "close descriptors");
	const int status = await_end(l);
	tell_end(l, status);
	return status_code(status);
}

int launch_run(struct args *a, int *ret_code, struct err *e)
{
	struct namespaces n;
	struct launch l = { .child = { .args = a,
				       .namespaces = &n,
				       .go = -1,
				       .report = -1,
				       .ended = -1,
				       .alive = -1 },
			    .go = -1,
			    .report = -1,
			    .ended = -1,
			    .pidfd = -1,
			    .parent = getppid() };
	int code = -1;

	if (namespaces_decide(a, &n, e) == 0 && open_pipes(&l, e) == 0 &&
	    namespaces_join(a, e) == 0)
		code = run(&l, e);
	close_childs(&l);
	own_close(&l.go);
	own_close(&l.report);
	own_close(&l.ended);
	own_close(&l.pidfd);
	if (code < 0)
		return -1;
	*ret_code = code;
	return 0;
}
