#include "sandbox/kernel/party.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"

_Static_assert(sizeof(struct outcome) <= PIPE_BUF, "an outcome must be one write");

void party_init(struct party *p)
{
	*p = (struct party){ .result = -1, .leash = -1 };
}

/* --- the child ----------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Closes all descriptors that the work does not need.  A pipe's writing end
 * that stayed open here would keep the pipe's reader waiting. */
static void close_others(const struct work *work, int result, int leash)
{
	int kept[PARTY_FDS_MAX + 2];
	size_t count = work->fd_count;
	unsigned first = 3;

	memcpy(kept, work->fds, count * sizeof(*kept));
	kept[count++] = result;
	kept[count++] = leash;
	qsort(kept, count, sizeof(*kept), by_number);
	for (size_t i = 0; i < count; i++) {
		if (kept[i] < (int)first)
			continue;
		if (kept[i] > (int)first)
			(void)sys_close_range(first, (unsigned)kept[i] - 1, 0); /* since
										 * 5.9 */
		first = (unsigned)kept[i] + 1;
	}
	(void)sys_close_range(first, ~0u, 0);
}

static _Noreturn void serve(const struct work *work, int result, int leash, pid_t parent)
{
	struct outcome o = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close_others(work, result, leash);
	(void)signal(SIGPIPE, SIG_IGN); /* write(2) then fails with EPIPE */
	work->do_it(work->arg, leash, &o);
	(void)io_write_all(result, &o, sizeof(o)); /* if this fails, the parent reports
						    * the missing result */
	_exit(0);
}

/* --- the caller ------------------------------------------------------------------ */

int party_start(struct party *p, const struct work *work, struct err *e)
{
	const pid_t self = getpid();
	int ends[2], leash[2];

	party_init(p);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	if (pipe2(leash, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int held = leash[1];
	p->leash = leash[0];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "make a process");
	if (pid == 0)
		serve(work, to, held, self);
	p->pid = pid;
	p->result = fd_take(&from);
	return 0;
}

static void wait_for(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR) {
		/* EINTR: wait again */
	}
}

static void explain_silence(struct outcome *o, int status)
{
	*o = (struct outcome){ 0 };
	if (WIFSIGNALED(status))
		(void)err_set(&o->error, ERR_SYSTEM, "a process of the copy was ended by signal "
						     "%d", WTERMSIG(status));
	else
		(void)err_set(&o->error, ERR_SYSTEM, "a process of the copy ended without a "
						     "result");
}

void party_collect(struct party *p)
{
	struct outcome *o = &p->outcome;
	ssize_t n = io_read_full(p->result, o, sizeof(*o));
	int status = 0;

	own_close(&p->result);
	wait_for(p->pid, &status);
	p->pid = 0;
	if (n != sizeof(*o))
		return explain_silence(o, status);
	/* The outcome may come from a jail, so it is not trusted. */
	if (o->error.kind != ERR_NONE)
		err_sanitize(&o->error);
	o->first[sizeof(o->first) - 1] = '\0';
}

void party_done(struct party *p)
{
	uint8_t rest[256];

	if (p->pid > 0) {
		(void)kill(p->pid, SIGKILL);
		wait_for(p->pid, NULL);
	}
	/* The child's own children hold the leash and die with it: the end of
	 * the leash means that all are gone. */
	while (p->leash >= 0 && io_read_full(p->leash, rest, sizeof(rest)) > 0) {
		/* bytes on the leash have no meaning */
	}
	own_close(&p->leash);
	own_close(&p->result);
	p->pid = 0;
}
