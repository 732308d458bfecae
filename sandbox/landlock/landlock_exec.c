#include "sandbox/landlock/landlock_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "protocol/message.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/landlock/landlock_rules.h"
#include "sandbox/landlock/subreaper.h"

#define FAILURE_FD 3

/* The report of a failure that the child writes into the pipe; smaller than
 * PIPE_BUF, so one write is atomic (pipe(7)). */
struct report {
	struct err error;     /* if error.kind is ERR_NONE, `failed` describes the
			       * failure */
	struct failed failed;
};
_Static_assert(sizeof(struct report) <= PIPE_BUF, "a report does not cross in one write");

struct beginning {
	const struct subreaper_parts *parts;
	const struct exec *exec;
	int failure;
};

void landlock_exec_failed(int failure, const struct err *e)
{
	const struct report r = { .error = *e };

	(void)io_write_all(failure, &r, sizeof(r)); /* the write fails if the launcher
						     * is gone, which then reads no
						     * report */
}

/* Reports the errno of a failed execve(2) or look-up, and ends this process. */
static _Noreturn void fail_at(enum exec_stage stage)
{
	const struct report r = { .failed = { .stage = stage, .sys = (uint32_t)errno } };

	(void)io_write_all(FAILURE_FD, &r, sizeof(r)); /* the write fails if the
							* launcher is gone, which then
							* reads no report */
	_exit(127);
}

/* Needs: the subreaper as the parent.  Leaves: a session of its own, without a
 * terminal; a process that dies with the subreaper; every signal at its default. */
static int stage_session(struct beginning *b, struct err *e)
{
	sigset_t none;

	(void)b;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) /* layer: landlock-death */
		return err_sys(e, "prctl PR_SET_PDEATHSIG");
	/* layer: landlock-session */
	(void)setsid(); /* fails for group leaders only, and a new child is none */
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		(void)signal(signo, SIG_DFL); /* signal(2) fails for SIGKILL and
					       * SIGSTOP, which always have the default */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* sigprocmask(2) cannot fail: its
						      * arguments are valid */
	umask(022);
	return 0;
}

/* Needs: no_new_privs.  Leaves: only granted files can be opened. */
static int stage_files(struct beginning *b, struct err *e)
{
	const struct landlock_rules *g = b->parts->rules;

	if (chdir(b->exec->cwd) < 0) {
		(void)err_sys(e, "enter the working directory: %.200s", b->exec->cwd);
		return err_remedy(e, "-w takes a folder of this host");
	}
	/* layer: landlock-files */
	return landlock_confine(g->rules, g->count, b->parts->spares, e);
}

/* Needs: every opened descriptor has been used.  Leaves: stdin, stdout, stderr, and
 * the failure pipe until execve(2). */
static int stage_descriptors(struct beginning *b, struct err *e)
{
	const int *stdio = b->parts->stdio;
	int high[] = { stdio[0], stdio[1], stdio[2] };

	/* Duplicates go to 10 and above, so that dup2(2) to 0..3 overwrites none of
	 * them. */
	int failure = fcntl(b->failure, F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		high[i] = fcntl(high[i], F_DUPFD_CLOEXEC, 10);
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0)
			return err_sys(e, "set descriptor %d", i);
	if (dup3(failure, FAILURE_FD, O_CLOEXEC) < 0)
		return err_sys(e, "set descriptor %d", FAILURE_FD);
	b->failure = FAILURE_FD;
	if (sys_close_range(FAILURE_FD + 1, ~0u, 0) < 0) /* layer: landlock-descriptors */
		return err_sys(e, "close_range");
	return 0;
}

static int stage_limits(struct beginning *b, struct err *e)
{
	for (uint32_t i = 0; i < b->exec->rlimit_count; i++) { /* layer: landlock-limits */
		const struct exec_rlimit *from = &b->exec->rlimits[i];
		const struct rlimit limit = { .rlim_cur = from->soft,
					      .rlim_max = from->hard };
		if (setrlimit((int)from->resource, &limit) < 0)
			return err_sys(e, "set limit %u", from->resource);
	}
	return 0;
}

/* Needs: no later step needs a privilege.  Leaves: a process without capabilities,
 * under the seccomp filters. */
static int stage_privileges(struct beginning *b, struct err *e)
{
	if (caps_drop(e) < 0)
		return -1;
	for (size_t i = 0; i < b->parts->filter_count; i++) /* layer: landlock-seccomp */
		if (seccomp_install(b->parts->filters[i], e) < 0)
			return -1;
	return 0;
}

/* Needs: nothing.  Leaves: the plan's environment as `environ`, so that this process
 * searches the plan's PATH for the command. */
static int stage_environment(struct beginning *b, struct err *e)
{
	(void)e;
	environ = b->exec->env; /* layer: landlock-environment */
	return 0;
}

/* Tells whether execvp(3) would try the next folder of PATH after this errno.  It
 * would not after ENOENT for a file that exists: then the file's interpreter is
 * missing. */
static bool is_elsewhere(const char *path)
{
	const int sys = errno;
	const bool is_absent = (sys == ENOENT || sys == ENOTDIR) &&
			       access(path, F_OK) < 0;

	errno = sys;
	return is_absent || sys == EACCES || sys == ENAMETOOLONG;
}

static _Noreturn void execute_from_path(const struct exec *x)
{
	const char *dirs = getenv("PATH");
	bool is_refused = false;
	char path[PATH_MAX];

	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir && *x->argv[0];) {
		int len = (int)strcspn(dir, ":");
		int room = snprintf(path, sizeof(path), "%.*s%s%s", len, dir,
				    len ? "/" : "", x->argv[0]);
		if (room < (int)sizeof(path)) {
			(void)execve(path, x->argv, environ);
			if (!is_elsewhere(path))
				fail_at(EXEC_STAGE_EXECVE);
			is_refused = is_refused || errno == EACCES;
		}
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	errno = is_refused ? EACCES : ENOENT;
	fail_at(EXEC_STAGE_LOOKUP);
}

static _Noreturn void execute(const struct exec *x)
{
	if (!strchr(x->argv[0], '/'))
		execute_from_path(x);
	(void)execve(x->argv[0], x->argv, environ);
	fail_at(is_elsewhere(x->argv[0]) && errno != EACCES ? EXEC_STAGE_LOOKUP
							   : EXEC_STAGE_EXECVE);
}

static int (*const stages[])(struct beginning *, struct err *) = {
	stage_session, stage_files,	 stage_descriptors,
	stage_limits,  stage_privileges, stage_environment,
};

void landlock_exec_command(const struct subreaper_parts *parts, int failure)
{
	struct beginning b = { .parts = parts, .exec = parts->exec, .failure = failure };
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
		if (stages[i](&b, &e) == 0)
			continue;
		landlock_exec_failed(b.failure, &e);
		_exit(125);
	}
	execute(parts->exec);
}

int landlock_exec_read(int failure, struct failed *ret, struct err *e)
{
	struct report r;
	ssize_t got = io_read_full(failure, &r, sizeof(r));

	if (got == 0)
		return 1;
	if (got != sizeof(r))
		return err_set(e, ERR_INTERNAL, "the command's process ended before its "
						"report was complete");
	if (r.error.kind == ERR_NONE) {
		*ret = r.failed;
		return 0;
	}
	err_sanitize(&r.error);
	*e = r.error;
	return -1;
}
