#include "sandbox/landlock/subreaper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "protocol/message.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/landlock/landlock_exec.h"
#include "sandbox/root/overlay_upper.h"

/* The numbers of the descriptors that the subreaper holds; all others are closed,
 * so that it keeps no pipe of the caller's or of the command's open. */
enum { LINE, CHILDREN, LOCK, HELD };

/* --- ending everything ------------------------------------------------------------ */

/* Facts about a process, from /proc/PID/stat. */
struct proc_stat {
	int parent;
	unsigned long long started; /* in ticks since the boot */
};

/* Reads "PID (NAME) STATE PARENT ...".  NAME may be anything (proc(5)), so the
 * parsing begins behind the last parenthesis.  Returns false if the process is gone. */
static bool look_at(pid_t pid, struct proc_stat *ret)
{
	char path[64], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	const char *end = strrchr(text, ')');
	return end &&
	       sscanf(end,
		      ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		      "%*d %*d %*d %*d %llu",
		      &ret->parent, &ret->started) == 2;
}

/* The time when a process began, as a tick of 10 ms and the process's pid.  If two
 * processes began in the same tick, the later one has the higher pid, unless pids
 * have wrapped within the tick. */
struct birth {
	unsigned long long tick;
	pid_t pid;
};

static bool is_later(const struct birth *a, const struct birth *b)
{
	return a->tick != b->tick ? a->tick > b->tick : a->pid > b->pid;
}

/* Kills the children that began after `since`, and returns how many.  Earlier
 * children are no processes of the sandbox: the program that executed hutch may have
 * had children, which are hutch's now. */
static unsigned kill_children(const struct birth *since)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned found = 0;
	struct proc_stat t;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name)
								     : 0;
		if (pid <= 0 || !look_at(pid, &t) || t.parent != getpid() ||
		    !is_later(&(struct birth){ t.started, pid }, since))
			continue;
		/* A child that cannot be killed (EPERM) does not count: a second try
		 * would fail as well. */
		found += kill(pid, SIGKILL) == 0;
	}
	if (proc)
		(void)closedir(proc); /* an error is harmless: /proc was only read */
	return found;
}

/* Kills children until none is left: processes that a killed child had started
 * become children of this process. */
static void end_children(const struct birth *since)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (kill_children(since) > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		(void)nanosleep(&moment, NULL); /* nanosleep(2) fails only if a signal
						 * ends it early, which does no harm */
	}
}

/* Kills every process of the Landlock domain by kill(-1).  While kill(-1) goes
 * through all processes, no process can be made (kill_something_info() holds
 * tasklist_lock), and a process that is about to fork sees the signal first. */
static void end_domain(void)
{
	if (kill(-1, SIGKILL) < 0 && errno != ESRCH)
		return end_children(&(struct birth){ 0 });
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

/* Kills every process that the command has started.  kill(-1) is only used in a
 * domain: outside of one it would end all processes of the user. */
static void end_all(bool has_domain)
{
	if (has_domain)
		end_domain();
	else
		end_children(&(struct birth){ 0 });
}

/* --- the subreaper ------------------------------------------------------------------- */

static int watch_children(struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(e, "block SIGCHLD");
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}

/* Needs: one thread.  Leaves: a process that gets no signals from a terminal or to
 * the caller's process group, and that becomes the parent of every orphan of the
 * command. */
static int become_subreaper(struct err *e)
{
	(void)setsid(); /* setsid(2) fails only for a process group leader, which a new
			 * child is not */
	(void)prctl(PR_SET_NAME, "hutch-keeper");
	/* Makes this process undumpable: its memory, a copy of the launcher's, holds
	 * secrets, and the user has other processes that could read it. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0) /* layer: landlock-undumpable */
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_CHILD_SUBREAPER");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) /* layer: landlock-no-new-privs */
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	return 0;
}

/* Needs: no_new_privs.  Leaves: signals reach this process's domain alone.  A test
 * signal to the parent must fail with EPERM: the parent, which is the launcher or
 * the process that has adopted this one, is outside of the domain. */
static int enter_domain(bool *ret_has_domain, struct err *e)
{
	if (landlock_abi() < LANDLOCK_ABI_SCOPES)
		return 0;
	if (landlock_scope(e) < 0)
		return -1;
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		return err_set(e, ERR_INTERNAL,
			       "a Landlock domain does not hold signals back");
	*ret_has_domain = true;
	return 0;
}

static void keep_only(const int held[HELD])
{
	int high[HELD];

	for (int i = 0; i < HELD; i++)
		high[i] = fcntl(held[i], F_DUPFD, 10);
	for (int i = 0; i < HELD; i++)
		if (high[i] < 0 || dup2(high[i], i) < 0)
			(void)close(i); /* if a duplicate failed, the caller's
					 * descriptor at this number must not stay open */
	(void)sys_close_range(HELD, ~0u, 0);
}

/* Passes on a signal that the launcher has ordered for the command.  Returns false
 * if the launcher wants the command to end, or is gone. */
static bool take_order(pid_t command)
{
	int signo;
	ssize_t got = recv(LINE, &signo, sizeof(signo), MSG_DONTWAIT);

	/* Signals the command's group, or the command alone if it has not made its
	 * group yet (ESRCH). The command is not reaped yet, so no other process has
	 * its number. */
	if (got == sizeof(signo) && kill(-command, signo) < 0 && errno == ESRCH)
		(void)kill(command, signo);
	return got == sizeof(signo) || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Reaps every child that has ended.  Returns true if the command was among them. */
static bool reap(pid_t command, int *ret_status)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(CHILDREN, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		*ret_status = status;
		return true;
	}
	return false;
}

/* Waits until the command has ended, or the launcher wants the command to end;
 * returns its wait status. */
static int watch(pid_t command)
{
	struct pollfd waits[] = { { .fd = LINE, .events = POLLIN },
				  { .fd = CHILDREN, .events = POLLIN } };
	int status = SIGKILL; /* the status if the launcher orders the command's end:
			       * SIGKILL will end it */

	for (;;) {
		if (poll(waits, ARRAY_LEN(waits), -1) < 0)
			continue; /* poll(2) fails only with EINTR, after a stop and
				   * SIGCONT */
		if (waits[1].revents && reap(command, &status))
			return status;
		if (waits[0].revents && !take_order(command))
			return status;
	}
}

static int64_t microseconds(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

static void tell(int status)
{
	struct subreaper_news news = { .status = status };
	struct rusage used = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &used); /* getrusage(2) cannot fail: its
						  * arguments are valid */
	news.user_us = microseconds(&used.ru_utime);
	news.sys_us = microseconds(&used.ru_stime);
	(void)send(LINE, &news, sizeof(news), MSG_NOSIGNAL); /* if the launcher is
							      * gone, no process needs
							      * the report */
}

/* Waits until the launcher has closed the socket, since it may still use the private
 * folder, and then removes the folder. */
static void remove_folder(struct overlay_upper *folder)
{
	char byte;

	while (recv(LINE, &byte, 1, 0) > 0 || errno == EINTR)
		errno = 0; /* the orders received here came after the command's end,
			    * and are dropped */
	folder->lock = LOCK;
	overlay_upper_remove(folder);
}

static _Noreturn void keep(const struct subreaper_parts *parts, int line, int failure)
{
	struct err e = { 0 };
	int children = watch_children(&e);
	bool has_domain = false;
	pid_t command = -1;

	if (children >= 0 && become_subreaper(&e) == 0 &&
	    enter_domain(&has_domain, &e) == 0) {
		command = fork();
		if (command == 0)
			landlock_exec_command(parts, failure);
		if (command < 0)
			(void)err_sys(&e, "make a process");
	}
	if (command < 0)
		landlock_exec_failed(failure, &e);
	const int held[HELD] = { line, children < 0 ? line : children,
				 parts->folder->lock };
	keep_only(held);
	int status = command < 0 ? 0 : watch(command);
	end_all(has_domain); /* layer: landlock-end */
	tell(status);
	remove_folder(parts->folder);
	_exit(0);
}

/* --- the launcher ----------------------------------------------------------------- */

void subreaper_init(struct subreaper *k)
{
	*k = (struct subreaper){ .line = -1, .failure = -1 };
}

int subreaper_start(const struct subreaper_parts *parts, struct subreaper *ret,
		    struct err *e)
{
	int line[2], failure[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0)
		return err_sys(e, "make a pair of sockets");
	AUTO_CLOSE int ours = line[0];
	AUTO_CLOSE int theirs = line[1];
	if (pipe2(failure, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int failed = failure[0];
	AUTO_CLOSE int fails = failure[1];
	/* Makes the launcher a subreaper too: if the subreaper is killed, the
	 * processes that it leaves become children of this process, which can then end
	 * them. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_CHILD_SUBREAPER");
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "start the subreaper");
	if (pid == 0) {
		own_close(&ours);
		keep(parts, theirs, fails);
	}
	*ret = (struct subreaper){ .pid = pid,
				   .line = fd_take(&ours),
				   .failure = fd_take(&failed) };
	return 0;
}

enum subreaper_heard subreaper_hear(struct subreaper *k, struct subreaper_news *ret)
{
	ssize_t got = recv(k->line, ret, sizeof(*ret), MSG_DONTWAIT);

	if (got == sizeof(*ret))
		return SUBREAPER_NEWS;
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? SUBREAPER_NOTHING
							      : SUBREAPER_GONE;
}

int subreaper_hear_failure(struct subreaper *k, struct failed *ret, struct err *e)
{
	AUTO_CLOSE int failure = fd_take(&k->failure);

	return landlock_exec_read(failure, ret, e);
}

void subreaper_signal(const struct subreaper *k, int signo)
{
	(void)send(k->line, &signo, sizeof(signo),
		   MSG_NOSIGNAL | MSG_DONTWAIT); /* on failure the subreaper is already
						  * ending all processes */
}

void subreaper_end(const struct subreaper *k)
{
	(void)shutdown(k->line, SHUT_WR); /* if shutdown(2) fails, the subreaper has
					   * ended */
}

void subreaper_done(struct subreaper *k)
{
	struct proc_stat subreaper = { 0 };

	own_close(&k->failure);
	own_close(&k->line);
	if (k->pid <= 0)
		return;
	/* The start time is read before the wait: /proc shows the subreaper only until
	 * it is waited for. */
	bool is_known = look_at(k->pid, &subreaper);
	const struct birth its = { subreaper.started, k->pid };
	const int status = worker_reap(k->pid);
	k->pid = 0;
	if (is_known && WIFSIGNALED(status)) /* layer: landlock-end-of-subreaper */
		end_children(&its);
}
