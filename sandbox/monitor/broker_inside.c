#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/monitor/broker_parts.h"

/* A request to the opener, which opens files of /proc (broker_parts.h).  A descriptor
 * of the file's folder comes with the message. */
struct asked {
	struct seccomp_notif call; /* the call; only its id is used */
	uint64_t caps;		   /* the caller's effective capabilities */
	int flags;
	mode_t mode;
	char name[sizeof(((struct spot *)0)->name)];
};

/* --- the opener ----------------------------------------------------------------------- */

/* Opens a file and answers the call.  Runs in a child of the opener, which is
 * a process of the sandbox for as long as the opening takes. */
static _Noreturn void open_it(const struct job *j, const struct asked *a, int dir)
{
	if (caps_raise(a->caps, a->caps) < 0)
		_exit(1);
	const int fd = openat(dir, a->name, a->flags | O_CLOEXEC, a->mode);
	if (fd < 0)
		job_answer(j, -errno);
	else
		job_hand_over(j, fd, a->flags & O_CLOEXEC);
	_exit(0);
}

/* Waits for the opener's child, and kills a child that is stopped: a process
 * inside may stop the child, and every caller that opens a file of /proc would
 * have to wait. */
static int end_of(pid_t pid)
{
	int status = 0;

	for (;;) {
		if (waitpid(pid, &status, WUNTRACED) < 0) { /* layer: broker-stopped */
			if (errno == EINTR)
				continue;
			return status;
		}
		if (!WIFSTOPPED(status))
			return status;
		(void)kill(pid, SIGKILL); /* the child is not yet reaped, so no other
					   * process has its pid */
	}
}

/* Serves one request by a child.  If a process inside kills the child, this
 * process answers the call instead. */
static void serve_one(struct broker_work *w, const struct asked *a, int dir)
{
	const struct job j = { .work = w, .target = { w->listener, &a->call } };
	const pid_t pid = fork();

	if (pid == 0)
		open_it(&j, a, dir);
	if (pid < 0)
		job_answer(&j, -errno);
	if (pid > 0 && end_of(pid))
		job_answer(&j, -EINTR);
}

/* Serves requests until the broker closes its socket, and then exits. */
_Noreturn void inside_serve(struct broker_work *w, int socket)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	struct asked a;

	for (;;) {
		AUTO_CLOSE int dir = -1;
		(void)poll(&p, 1, -1);
		const ssize_t n = fd_pass_receive(socket, &a, sizeof(a), &dir);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			_exit(0);
		if (n == sizeof(a) && dir >= 0)
			serve_one(w, &a, dir);
	}
}

/* --- the broker, which asks it -------------------------------------------------------- */

int job_open_inside(const struct job *j, const struct spot *s, int flags, mode_t mode)
{
	struct asked a = { .call.id = j->target.call->id, .caps = j->caps & j->work->caps,
			   .flags = flags, .mode = mode };

	(void)snprintf(a.name, sizeof(a.name), "%s", s->name); /* the buffer is large
								* enough */
	return fd_pass_send(j->work->opener, &a, sizeof(a), &s->dir, 1) == sizeof(a)
		       ? JOB_ANSWERED
		       : -EAGAIN;
}
