#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/await.h"
#include "base/err.h"
#include "base/fd_keep.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"

struct message {
	struct err error; /* the work's error; kind ERR_NONE: success */
	_Alignas(max_align_t) char result[WORKER_RESULT_MAX];
};

_Static_assert(sizeof(struct message) <= PIPE_BUF, "a message must be one write");

static size_t message_len(size_t result_len)
{
	return offsetof(struct message, result) + result_len;
}

/* --- the child ------------------------------------------------------------------- */

struct side {
	int answer, leash; /* the child's ends of the pipes; `leash` is -1 if there is no
			    * such pipe */
};

static void close_others(const struct worker_task *t, const struct side *mine)
{
	int kept[WORKER_FDS_MAX + 2];
	size_t count = t->fd_count;

	memcpy(kept, t->fds, count * sizeof(*kept));
	kept[count++] = mine->answer;
	kept[count++] = mine->leash;
	(void)fd_keep(kept, count); /* cannot fail: Linux has close_range(2) since 5.9 */
}

/* Makes the error agree with a step's return value: no error after 0, and one of kind
 * ERR_INTERNAL if a failed step has set none. */
static bool is_done(int rc, struct err *e)
{
	if (rc == 0)
		e->kind = ERR_NONE;
	else if (e->kind == ERR_NONE)
		e->kind = ERR_INTERNAL;
	return rc == 0;
}

/* If the write fails, the parent finds no message, and reports that there was no
 * answer. */
static void put(const struct worker_task *t, const struct side *mine, const void *bytes,
		 size_t len)
{
	(void)io_write_all(t->answer ? *t->answer : mine->answer, bytes, len);
}

/* If the task has a setup, the error part of the message is sent before the work
 * begins, so that hostile bytes that gain control over the work cannot change it. */
static void answer(const struct worker_task *t, const struct side *mine)
{
	struct message m = { .error.kind = ERR_NONE };
	const size_t all = message_len(t->result_len);
	size_t sent = 0;

	if (t->setup && is_done(t->setup(t->arg, &m.error), &m.error)) {
		sent = offsetof(struct message, result);
		put(t, mine, &m, sent);
	}
	if (m.error.kind == ERR_NONE &&
	    !is_done(t->work(t->arg, m.result, &m.error), &m.error) && sent)
		_exit(1);
	put(t, mine, (const char *)&m + sent, all - sent);
}

static _Noreturn void serve(const struct worker_task *t, const struct side *mine,
			    pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* prctl(2) cannot fail: the arguments are
						 * valid */
	/* The parent may have ended before PR_SET_PDEATHSIG took effect, so the
	 * parent's pid is checked.  In a new pid namespace getppid(2) returns 0, so
	 * the check is impossible. */
	if (!(t->flags & CLONE_NEWPID) && getppid() != parent)
		_exit(1);
	if (!t->has_all_fds)
		close_others(t, mine);
	(void)signal(SIGPIPE, SIG_IGN);
	if (t->leash)
		*t->leash = mine->leash;
	if (t->answer)
		*t->answer = mine->answer;
	answer(t, mine);
	_exit(0);
}

/* --- the parent ------------------------------------------------------------------ */

/* Makes the child.  fork(2) is used where no flags are wanted, since it also works
 * under a seccomp filter that refuses clone3(2). */
static pid_t make_child(uint64_t flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

	return flags ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : fork();
}

int worker_start(const struct worker_task *t, struct worker *ret, struct err *e)
{
	const pid_t parent = getpid();
	int answer[2], leash[2] = { -1, -1 };

	*ret = (struct worker){ 0 };
	/* With O_NONBLOCK, read(2) does not wait for a stray process that holds the
	 * writing end open.  A message always fits into the empty pipe. */
	if (pipe2(answer, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = answer[0];
	AUTO_CLOSE int to = answer[1];
	if (t->leash && pipe2(leash, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int held = leash[1];
	AUTO_CLOSE int watched = leash[0];
	pid_t pid = make_child(t->flags);
	if (pid == 0)
		serve(t, &(struct side){ to, held }, parent);
	if (pid < 0)
		return err_sys(e, "start %s", t->name);
	*ret = (struct worker){ .pid = pid, .answer = fd_take(&from),
				.leash = fd_take(&watched), .shared = -1,
				.result_len = t->result_len, .name = t->name };
	if (t->flags & CLONE_FILES) /* with CLONE_FILES, closing the writing end here
				     * would close it in the child */
		ret->shared = fd_take(&to);
	return 0;
}

int worker_reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static int reap(struct worker *w)
{
	const int status = worker_reap(w->pid);
	char nothing;

	w->pid = 0;
	own_close(&w->shared);
	/* Waits for the child's own children, which die shortly after it: the leash
	 * is at end of file when all of them have closed it.  No process writes to
	 * it. */
	while (w->leash >= 0 && io_read_full(w->leash, &nothing, 1) > 0) {
		/* io_read_full() returns 0 at the end of file */
	}
	own_close(&w->leash);
	return status;
}

static int explain_silence(const char *name, int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, ERR_SYSTEM, "%s was ended by signal %d", name,
			       WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return err_set(e, ERR_SYSTEM, "%s ended with code %d and without a "
					      "result", name, WEXITSTATUS(status));
	return err_set(e, ERR_SYSTEM, "%s ended without a result", name);
}

int worker_wait(struct worker *w, void *ret_result, struct err *e)
{
	const size_t len = message_len(w->result_len);
	const int status = reap(w);
	struct message m;

	const bool is_whole = io_read_full(w->answer, &m, len) == (ssize_t)len;
	own_close(&w->answer);
	if (!is_whole)
		return explain_silence(w->name, status, e);
	if (m.error.kind != ERR_NONE) {
		err_sanitize(&m.error);
		if (e)
			*e = m.error;
		return -1;
	}
	if (w->result_len)
		memcpy(ret_result, m.result, w->result_len);
	return 0;
}

int worker_await_setup(struct worker *w, struct err *e)
{
	struct err why;

	(void)await_ready(w->answer, POLLIN, 0); /* if it fails, there is no message */
	const bool is_whole = io_read_full(w->answer, &why, sizeof(why)) ==
			      (ssize_t)sizeof(why);
	if (is_whole && why.kind == ERR_NONE)
		return 0;
	const int status = reap(w);
	own_close(&w->answer);
	if (!is_whole)
		return explain_silence(w->name, status, e);
	err_sanitize(&why);
	if (e)
		*e = why;
	return -1;
}

void worker_end(struct worker *w)
{
	if (w->pid <= 0)
		return;
	(void)kill(w->pid, SIGKILL); /* the pid is still ours: the child is not yet
				      * reaped */
	(void)reap(w);
	own_close(&w->answer);
}

int worker_run(const struct worker_task *t, void *ret_result, struct err *e)
{
	struct worker w;

	return worker_start(t, &w, e) < 0 ? -1 : worker_wait(&w, ret_result, e);
}
