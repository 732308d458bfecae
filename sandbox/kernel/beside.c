#include "sandbox/kernel/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

/* The exit status of a helper whose work failed: its error was written to the
 * pipe, or not. */
enum { HELPER_SAID = 1, HELPER_MUTE };

void beside_init(struct beside *b)
{
	*b = (struct beside){ .answer = { -1, -1 } };
}

static void close_answer(struct beside *b)
{
	own_close(&b->answer[0]);
	own_close(&b->answer[1]);
}

static _Noreturn void run_helper(int answer, int (*work)(const void *, struct err *),
				 const void *arg)
{
	struct err e = { 0 };

	if (work(arg, &e) == 0)
		_exit(0);
	_exit(io_write_all(answer, &e, sizeof(e)) < 0 ? HELPER_MUTE : HELPER_SAID);
}

int beside_begin(struct beside *b, int (*work)(const void *arg, struct err *e),
		 const void *arg, struct err *e)
{
	/* With CLONE_VM the two processes would share errno. */
	struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };

	if (pipe2(b->answer, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		run_helper(b->answer[1], work, arg);
	if (pid < 0) {
		(void)err_sys(e, "start a helper process");
		close_answer(b);
		return -1;
	}
	b->helper = (pid_t)pid;
	return 0;
}

/* Reads the cause only if the helper says that it has written it, so that the
 * read never waits. */
static int cause_of(const struct beside *b, int status, struct err *e)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == HELPER_SAID &&
	    io_read_full(b->answer[0], e, sizeof(*e)) == sizeof(*e))
		return -1;
	return err_set(e, ERR_INTERNAL, "a helper process ended with wait status %d", status);
}

int beside_end(struct beside *b, struct err *e)
{
	int status;

	while (waitpid(b->helper, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for a helper process");
	b->helper = 0;
	int result = status == 0 ? 0 : cause_of(b, status, e);
	close_answer(b);
	return result;
}
