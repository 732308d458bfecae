#include "sandbox/plan/image_tool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"

/* --- the program ------------------------------------------------------------------- */

static bool place(int fd, int null, int at)
{
	return dup2(fd < 0 ? null : fd, at) == at;
}

__attribute__((noreturn)) static void run_tool(const struct image_tool *t,
					       const char *path, struct list *argv,
					       int leash, pid_t parent)
{
	/* The leash (image_tool.h) is moved to a higher number first, so that no dup2(2)
	 * below overwrites it. */
	int high = fcntl(leash, F_DUPFD_CLOEXEC, IMAGE_TOOL_LEASH + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(127);
	/* The user that root became may have other processes, and these may read this
	 * process's environment: variables of root's that hutch-image does not need are
	 * removed. */
	if (t->was_root)
		host_user_forget_for_images();
	if (null >= 0 && place(t->errors, null, 2) && place(t->in, null, 0) &&
	    place(t->out, null, 1) && high >= 0 && place(high, null, IMAGE_TOOL_LEASH))
		(void)execv(path, argv->items);
	_exit(127);
}

/* --- the launcher ------------------------------------------------------------------ */

/* Collects the signals to wait for: SIGCHLD, which reports the child's end, and the
 * signals that would end this process if they were not blocked. */
static void watch(sigset_t *watched, sigset_t *before)
{
	static const int enders[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	(void)sigemptyset(watched);
	(void)sigaddset(watched, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, watched, before);
	for (size_t i = 0; i < ARRAY_LEN(enders); i++)
		if (sigismember(before, enders[i]) == 1)
			(void)sigaddset(watched, enders[i]);
}

/* Waits for a signal or the child's end.  After a signal, ends the child too and returns
 * the signal's number; returns 0 if the child ended first. */
static int wait_for(pid_t pid, const sigset_t *watched, int *ret_status)
{
	pid_t ended;

	while ((ended = waitpid(pid, ret_status, WNOHANG)) == 0) {
		int number = sigwaitinfo(watched, NULL);
		if (number <= 0 || number == SIGCHLD)
			continue;
		(void)kill(pid, SIGTERM);
		*ret_status = worker_reap(pid);
		return number;
	}
	return 0;
}

/* Waits until no process holds the other end of the leash: read(2) then reports the end
 * of file.  hutch-image and its child processes hold that end, and do not write to
 * it. */
static void wait_for_all(int leash)
{
	char said[64];

	while (io_read_full(leash, said, sizeof(said)) > 0) {
		/* discards bytes; none should come */
	}
}

static int run(const struct image_tool *t, const char *path, struct list *argv,
	       struct err *e)
{
	sigset_t watched, before;
	int status = -1, number = 0, ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int leash = ends[0];
	AUTO_CLOSE int held = ends[1];
	watch(&watched, &before);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		run_tool(t, path, argv, held, parent);
	own_close(&held);
	if (pid > 0) {
		number = wait_for(pid, &watched, &status);
		wait_for_all(leash);
	} else {
		(void)err_sys(e, "fork");
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL); /* restores the mask that was
							* set before */
	if (pid < 0 || status == 0)
		return pid < 0 ? -1 : 0;
	if (number)
		return err_set(e, ERR_SYSTEM, "ended by signal %d while %s", number,
			       t->doing);
	return err_set(e, ERR_GONE, "hutch image ended without saying why, while %s",
		       t->doing);
}

int image_tool_run(struct image_tool *t, struct err *e)
{
	AUTO_FREE char *path = NULL;
	struct list argv = { 0 };

	if (program_find("hutch-image", &path, e) < 0)
		return -1;
	list_add(&argv, "hutch-image");
	for (size_t i = 0; i < t->words.count; i++)
		list_add(&argv, t->words.items[i]);
	int rc = run(t, path, &argv, e);
	list_done(&argv);
	return rc;
}

int image_tool_hear(struct image_tool *t, struct err *e)
{
	struct err why;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = t->out = ends[1];
	int rc = image_tool_run(t, e);
	own_close(&to);
	/* The child has ended, so its struct err is in the pipe already: the struct is
	 * smaller than a pipe's capacity. */
	if (rc == 0 || e->kind != ERR_GONE ||
	    io_read_full(from, &why, sizeof(why)) != sizeof(why) || why.kind == ERR_NONE)
		return rc;
	err_sanitize(&why);
	*e = why;
	return -1;
}
