#include "rootfs-tools/layers/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

/* The child writes this to the pipe with one write(2). */
struct said {
	struct err error;
	_Alignas(16) char result[APART_RESULT_MAX];
};

static _Noreturn void be_apart(int (*work)(void *, void *, struct err *), void *arg,
			       pid_t parent, int to)
{
	struct said said = { .error.kind = ERR_NONE };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* the parent ended before PR_SET_PDEATHSIG was set */
	if (work(arg, said.result, &said.error) == 0)
		said.error.kind = ERR_NONE;
	_exit(io_write_all(to, &said, sizeof(said)) < 0);
}

int apart_start(int (*work)(void *arg, void *result, struct err *e), void *arg,
		struct apart *ret, struct err *e)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		be_apart(work, arg, parent, to);
	*ret = (struct apart){ pid, fd_take(&from) };
	return 0;
}

int apart_finish(struct apart *a, void *ret_result, size_t len, struct err *e)
{
	struct said said;
	int status;

	ssize_t came = io_read_full(a->from, &said, sizeof(said));
	own_close(&a->from);
	while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR) {
		/* EINTR: wait again */
	}
	*a = (struct apart){ 0 };
	if (came != sizeof(said))
		return err_set(e, ERR_SYSTEM, "a helper process ended without a result");
	if (said.error.kind != ERR_NONE) {
		err_sanitize(&said.error);
		if (e)
			*e = said.error;
		return -1;
	}
	if (len)
		memcpy(ret_result, said.result, len);
	return 0;
}
