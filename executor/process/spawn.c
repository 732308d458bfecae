#include "executor/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"
#include "executor/process/copy.h"
#include "executor/process/user.h"
#include "protocol/message.h"

/* The value of PATH when the environment has none, as confstr(3) returns it. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* The descriptor of the status pipe's write end in the child, next to stdin, stdout and
 * stderr. */
#define STATUS_FD 3

/* The functions from here to become_command() may run in a child that shares the parent's
 * memory (vfork(2)).  Therefore they allocate nothing, change no global variable and take
 * no lock.  Calls that libc wraps with bookkeeping for threads go to the kernel
 * directly. */

static _Noreturn void fail(enum exec_stage stage)
{
	struct failed report = { .stage = stage, .sys = (uint32_t)errno };

	/* The report is shorter than PIPE_BUF and the pipe is empty, so write(2) writes
	 * all of it without blocking. */
	(void)!write(STATUS_FD, &report, sizeof(report));
	/* The command's own seccomp filter may refuse even exit_group(2), and then the
	 * executor would wait for the child for ever.  No filter can keep a fault from
	 * ending a process. */
	(void)syscall(SYS_exit_group, 127);
	__builtin_trap();
}

/* Moves the child into the command's cgroup: "0" means the writing process (cgroups(7)).
 * The kernel checks the permissions of the supervisor, which opened the file.  Returns 0
 * or the errno, which the caller reports once the status pipe has the number
 * STATUS_FD. */
static int enter_cgroup(int procs)
{
	return procs < 0 || write(procs, "0", 1) == 1 ? 0 : errno;
}

/* Gives the further descriptors their final numbers.  All are first duplicated to higher
 * numbers, since one may now have the final number of another. */
static void take_more(const struct spawn *s)
{
	int high[SPAWN_MORE];

	for (size_t i = 0; i < s->more_count; i++)
		high[i] = fcntl(s->more[i].from, F_DUPFD_CLOEXEC,
				SPAWN_MORE_BASE + SPAWN_MORE);
	for (size_t i = 0; i < s->more_count; i++)
		(void)dup2(high[i], s->more[i].to); /* cannot fail: the descriptor is
						     * valid */
}

/* Keeps stdin, stdout, stderr, the status pipe and the descriptors that `more` names, and
 * closes all others: a command may stop the child at this point, and the child must not
 * hold the pipes of another command open meanwhile.  The descriptors are above 3 so far,
 * since the executor's own 0 to 3 are always open. */
static void take_descriptors(const struct spawn *s, int status)
{
	for (int i = 0; i < 3; i++)
		(void)dup2(s->stdio[i], i); /* cannot fail: the descriptor is valid */
	if (status != STATUS_FD)
		(void)dup3(status, STATUS_FD, O_CLOEXEC);
	take_more(s);
	unsigned end = SPAWN_MORE_BASE + (unsigned)s->more_count;
	/* A filter may refuse close_range(2).  That does no harm: all descriptors are
	 * close-on-exec. */
	if (s->more_count > 0)
		(void)sys_close_range(STATUS_FD + 1u, SPAWN_MORE_BASE - 1u, 0);
	/* layer: command-descriptors */
	(void)sys_close_range(s->more_count > 0 ? end : STATUS_FD + 1u, ~0u, 0);
}

/* Begins a session of its own, so that a signal to the command's process group, and a
 * hang-up of its terminal, reach only the command and its children. */
static void begin_session(const struct exec *x)
{
	(void)setsid(); /* fails for group leaders only; the child is new and leads
			 * none */
	if ((x->flags & EXEC_PTY) && ioctl(1, TIOCSCTTY, 0) < 0)
		fail(EXEC_STAGE_PTY);
}

/* Makes the command the parent of its orphaned descendants, as long as it lives
 * (prctl(2), PR_SET_CHILD_SUBREAPER).  The attribute survives execve(2); children do not
 * inherit it. */
static void become_subreaper(const struct exec *x)
{
	if (x->flags & EXEC_TREE)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* cannot fail here */
}

static void set_limits(const struct exec *x)
{
	for (uint32_t i = 0; i < x->rlimit_count; i++) {
		const struct exec_rlimit *from = &x->rlimits[i];
		struct rlimit limit = { .rlim_cur = from->soft, .rlim_max = from->hard };
		/* layer: rlimits */
		if (prlimit(0, (int)from->resource, &limit, NULL) < 0)
			fail(EXEC_STAGE_RLIMIT);
	}
}

/* Returns the value of PATH in this environment, or the default. */
static const char *path_of(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return DEFAULT_PATH;
}

/* Puts "DIR/NAME" into `to`; an empty DIR is the working directory.  Returns false if the
 * path is too long. */
static bool join(char to[PATH_MAX], const char *dir, size_t dir_len, const char *name)
{
	size_t name_len = strlen(name);

	if (dir_len + name_len + 2 > PATH_MAX)
		return false;
	memcpy(to, dir, dir_len);
	if (dir_len > 0)
		to[dir_len++] = '/';
	memcpy(to + dir_len, name, name_len + 1);
	return true;
}

bool spawn_find(char *const *env, const char *name, char ret[PATH_MAX])
{
	size_t len;

	for (const char *dir = path_of(env); dir; dir = dir[len] ? dir + len + 1 : NULL) {
		len = strcspn(dir, ":");
		if (*dir == '/' && join(ret, dir, len, name) && access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* Returns the stage at which an execve(2) of `path` has failed.  ENOENT for a file that
 * exists means that its interpreter is missing.  A seccomp filter of the command's own
 * may make that look different. */
static enum exec_stage failed_stage(const char *path)
{
	int sys = errno;
	bool is_absent = (sys == ENOENT || sys == ENOTDIR) && access(path, F_OK) < 0;

	errno = sys;
	return is_absent ? EXEC_STAGE_LOOKUP : EXEC_STAGE_EXECVE;
}

/* Returns true for errors after which execvp(3) tries the next directory of PATH. */
static bool is_elsewhere(const char *path)
{
	return errno == EACCES || errno == ENAMETOOLONG ||
	       failed_stage(path) == EXEC_STAGE_LOOKUP;
}

static _Noreturn void execute_from_path(const struct exec *x)
{
	const char *name = x->argv[0], *dir = path_of(x->env);
	char path[PATH_MAX];
	bool is_refused = false;

	for (; *name && dir; dir = *dir ? dir + 1 : NULL) {
		size_t len = strcspn(dir, ":");
		if (join(path, dir, len, name)) {
			(void)execve(path, x->argv, x->env);
			if (!is_elsewhere(path))
				fail(EXEC_STAGE_EXECVE);
			is_refused = is_refused || errno == EACCES;
		}
		dir += len;
	}
	errno = is_refused ? EACCES : ENOENT;
	fail(EXEC_STAGE_LOOKUP);
}

static _Noreturn void execute(const struct exec *x)
{
	if (!strchr(x->argv[0], '/'))
		execute_from_path(x);
	(void)execve(x->argv[0], x->argv, x->env);
	fail(failed_stage(x->argv[0]));
}

/* Installs the command's own seccomp filter, in addition to the one inherited from the
 * executor.  From here on the command's filter may refuse any system call. */
static void enter_filter(const struct exec *x)
{
	struct sock_fprog program = {
		.len = (unsigned short)(x->filter_len / EXEC_FILTER_UNIT),
		.filter = (struct sock_filter *)(uintptr_t)x->filter,
	};

	if (program.len > 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		fail(EXEC_STAGE_FILTER);
}

void spawn_execute(const struct exec *x)
{
	set_limits(x);
	enter_filter(x);
	execute(x);
}

static bool executes(const struct spawn *s)
{
	return !(s->exec->flags & EXEC_COPIES) && !s->instead;
}

/* Called in a child that does not execve and has a copy of the parent's memory
 * (make_child()): reports success, and goes on in copy_run() or in `instead`. */
static _Noreturn void stay(const struct spawn *s)
{
	if (user_stay(s->self, s->exec->uid) < 0)
		fail(EXEC_STAGE_USER);
	(void)close(STATUS_FD); /* reports success: the parent reads the end of file */
	if (!s->instead)
		copy_run(s->exec);
	s->instead(s->what);
	__builtin_trap(); /* reached only if `instead` returned, which it must not */
}

/* Waits for the command, whose orphans are the keeper's children, too; then stays as their
 * parent until the executor kills it.  The keeper must not hold the command's pipes open,
 * and no signal that the command sends to its process group may end it. */
static _Noreturn void keep(pid_t command)
{
	struct failed report = { .stage = SPAWN_ENDED };
	int status = 0;
	sigset_t all;
	pid_t pid;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* the arguments are valid */
	(void)prctl(PR_SET_NAME, "hutch-plugin");
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (int fd = 0; fd < STATUS_FD; fd++)
		(void)close(fd); /* cannot fail: these are pipes */
	do
		pid = waitpid(-1, &status, 0);
	while (pid > 0 && pid != command);
	report.sys = (uint32_t)status;
	(void)!write(STATUS_FD, &report, sizeof(report)); /* as in fail() */
	for (;;) /* no filter refuses a call without which the executor could not work */
		(void)poll(NULL, 0, -1);
}

/* Makes the child that goes on as the command; this process becomes its keeper. */
static void begin_keeping(const struct spawn *s)
{
	pid_t pid = s->is_kept ? fork() : 0;

	if (pid < 0)
		fail(EXEC_STAGE_FORK);
	if (pid > 0)
		keep(pid);
}

static _Noreturn __attribute__((noinline)) void become_command(const struct spawn *s,
								int status)
{
	int refused = enter_cgroup(s->cgroup);
	sigset_t none;

	take_descriptors(s, status);
	if (refused) {
		errno = refused;
		fail(EXEC_STAGE_CGROUP);
	}
	begin_session(s->exec);
	become_subreaper(s->exec);
	set_limits(s->exec);
	if (user_become(s->self, s->exec) < 0)
		fail(EXEC_STAGE_USER);
	if (chdir(s->exec->cwd) < 0)
		fail(EXEC_STAGE_CWD);
	begin_keeping(s);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* the arguments are valid */
	enter_filter(s->exec);
	if (!executes(s))
		stay(s);
	execute(s->exec);
}

/* All functions from here on run in the parent, the executor. */

/* Makes the child.  This function is never inlined, since vfork(2) returns twice, the
 * second time into a stack frame that the child may have changed. */
static __attribute__((noinline)) pid_t make_child(const struct spawn *s, int status)
{
	pid_t pid = s->is_alone && !s->is_kept && executes(s) ? vfork() : fork();

	if (pid == 0)
		become_command(s, status);
	return pid;
}

pid_t spawn_command(const struct spawn *s, int *ret_status)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	AUTO_CLOSE int ours = ends[0];
	AUTO_CLOSE int theirs = ends[1];
	pid_t pid = make_child(s, theirs);
	if (pid > 0)
		*ret_status = fd_take(&ours);
	return pid;
}

enum spawn_state spawn_result(int status, struct failed *ret)
{
	struct failed report;
	ssize_t n = read(status, &report, sizeof(report));

	if (n < 0)
		return SPAWN_PENDING;
	if (n != sizeof(report))
		return SPAWN_STARTED;
	*ret = report;
	return SPAWN_FAILED;
}
