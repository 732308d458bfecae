#include "gateway/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"

extern char **environ;

/* --- its output --------------------------------------------------------------- */

static void close_pipe(struct command *p, struct watch *w)
{
	if (w->fd < 0)
		return;
	loop_unwatch(p->loop, w);
	own_close(&w->fd);
}

/* Keeps the last bytes: the error is behind all progress. */
static void keep_last(struct buffer *to, const char *piece, size_t len)
{
	const size_t kept = len < COMMAND_ERR_MAX ? len : COMMAND_ERR_MAX;
	const size_t have = buffer_len(to);

	if (have + kept > COMMAND_ERR_MAX)
		buffer_consume(to, have + kept - COMMAND_ERR_MAX);
	(void)buffer_append(to, piece + len - kept, kept);
}

/* Reads what is there; bytes beyond the bound are dropped. */
static void drain(struct command *p, struct watch *w, struct buffer *to)
{
	char piece[16384];
	ssize_t n;

	if (w->fd < 0)
		return;
	while ((n = read(w->fd, piece, sizeof(piece))) > 0)
		if (to == &p->complaint)
			keep_last(to, piece, (size_t)n);
		else if (!buffer_append(to, piece, (size_t)n))
			to->is_cut = true;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_pipe(p, w);
}

static void on_out(void *context, uint32_t events)
{
	struct command *p = context;

	(void)events;
	drain(p, &p->out, &p->said);
}

static void on_err(void *context, uint32_t events)
{
	struct command *p = context;

	(void)events;
	drain(p, &p->err, &p->complaint);
}

/* --- its end ------------------------------------------------------------------ */

static void release(struct command *p)
{
	close_pipe(p, &p->out);
	close_pipe(p, &p->err);
	if (p->pidfd >= 0)
		loop_unwatch(p->loop, &p->life);
	own_close(&p->pidfd);
	buffer_done(&p->said);
	buffer_done(&p->complaint);
	free(p);
}

static void on_end(void *context, uint32_t events)
{
	struct command *p = context;
	siginfo_t info = { 0 };

	(void)events;
	(void)waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED);
	p->exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	drain(p, &p->out, &p->said);
	drain(p, &p->err, &p->complaint);
	p->ended(p->context, p);
	release(p);
}

void command_kill(struct command *p)
{
	(void)kill(p->pid, SIGKILL); /* it may have ended */
}

void command_end(struct command *p)
{
	siginfo_t info;

	command_kill(p);
	(void)waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED);
}

/* --- its start ---------------------------------------------------------------- */

static int spawn(struct command *p, const char *path, char *const *argv, const int fds[3],
		 struct err *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int rc;

	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes,
				       POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	for (int i = 0; i < 3; i++)
		(void)posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	rc = posix_spawn(&p->pid, path, &actions, &attributes, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	errno = rc;
	return rc ? err_sys(e, "run %s", path) : 0;
}

static int watch_it(struct command *p, struct err *e)
{
	p->pidfd = sys_pidfd_open(p->pid, 0);
	if (p->pidfd < 0)
		return err_sys(e, "pidfd_open");
	p->life = (struct watch){ p->pidfd, p, on_end };
	p->out = (struct watch){ p->out.fd, p, on_out };
	p->err = (struct watch){ p->err.fd, p, on_err };
	if (loop_watch(p->loop, &p->life, EPOLLIN, e) < 0 ||
	    loop_watch(p->loop, &p->out, EPOLLIN, e) < 0)
		return -1;
	return loop_watch(p->loop, &p->err, EPOLLIN, e);
}

static int begin(struct command *p, const char *path, char *const *argv, int in,
		 struct err *e)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		own_close(&out[0]);
		own_close(&out[1]);
		return err_sys(e, "pipe2");
	}
	AUTO_CLOSE int out_end = out[1];
	AUTO_CLOSE int err_end = err[1];
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	p->out.fd = out[0];
	p->err.fd = err[0];
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK); /* cannot fail for a pipe */
	(void)fcntl(err[0], F_SETFL, O_NONBLOCK);
	const int fds[] = { in >= 0 ? in : null, out_end, err_end };
	return spawn(p, path, argv, fds, e) < 0 ? -1 : watch_it(p, e);
}

struct command *command_start(struct loop *l, const char *path, char *const *argv, int in,
			      void *context,
			      void (*ended)(void *context, struct command *p),
			      struct err *e)
{
	struct command *p = calloc(1, sizeof(*p));

	if (!p) {
		(void)err_sys(e, "run %s", path);
		return NULL;
	}
	*p = (struct command){
		.loop = l, .pidfd = -1, .context = context, .ended = ended
	};
	p->out.fd = p->err.fd = -1;
	buffer_init(&p->said, COMMAND_OUT_MAX);
	buffer_init(&p->complaint, COMMAND_ERR_MAX);
	if (begin(p, path, argv, in, e) == 0)
		return p;
	release(p);
	return NULL;
}
