#include "lib/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd_pass.h"
#include "base/kernel.h"
#include "base/own.h"
#include "lib/error.h"

extern char **environ;

void helper_init(struct helper *x)
{
	*x = (struct helper){ .ended = -1, .says = -1 };
}

/* --- start ----------------------------------------------------------------- */

/* Lists the dup2(2) calls for the child.  If a descriptor already has the number that
 * it must get, posix_spawn(3) clears its close-on-exec flag, which dup2(2) alone
 * would not do. */
static int plan_descriptors(posix_spawn_file_actions_t *a, const struct helper_plan *plan,
			    int theirs)
{
	const int notes = plan->notes;
	int rc = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);

	if (!rc && plan->says_as != 1)
		rc = posix_spawn_file_actions_addopen(a, 1, "/dev/null", O_WRONLY, 0);
	if (!rc && plan->says_as != 2 && notes >= 0)
		rc = posix_spawn_file_actions_adddup2(a, notes, 2);
	if (!rc && plan->says_as != 2 && notes < 0)
		rc = posix_spawn_file_actions_addopen(a, 2, "/dev/null", O_WRONLY, 0);
	return rc ? rc : posix_spawn_file_actions_adddup2(a, theirs, plan->says_as);
}

static int plan_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	int rc = posix_spawnattr_setsigmask(attr, &none);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(attr, &all);
	return rc ? rc :
		    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
							   POSIX_SPAWN_SETSIGDEF);
}

/* Starts the program.  Returns an error number, as posix_spawn(3) does, and not -1. */
static int spawn(pid_t *ret, const struct helper_plan *plan, int theirs)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return rc;
	}
	rc = plan_signals(&attr);
	if (!rc)
		rc = plan_descriptors(&actions, plan, theirs);
	if (!rc)
		rc = posix_spawnp(ret, plan->program, &actions, &attr, plan->argv,
				  environ);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Makes a socketpair whose ends have numbers above those that the child will use, so
 * that no dup2(2) in the child overwrites an end. */
static int make_ends(int ends[2], struct hutch_error *e)
{
	int low[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low) < 0)
		return error_sys(e, "make a socket for hutch");
	for (int i = 0; i < 2; i++)
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
	int sys = errno;
	own_close(&low[0]);
	own_close(&low[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	own_close(&ends[0]);
	own_close(&ends[1]);
	errno = sys;
	return error_sys(e, "make a socket for hutch");
}

static int not_found(const struct helper_plan *plan, struct hutch_error *e)
{
	(void)error_sys(e, "run %.200s", plan->program);
	return error_remedy(e, "hutch must be on PATH, or be named in struct hutch_how");
}

int helper_start(struct helper *x, const struct helper_plan *plan, struct hutch_error *e)
{
	int ends[2];

	if (make_ends(ends, e) < 0)
		return -1;
	AUTO_CLOSE int ours = ends[0], theirs = ends[1];
	pid_t pid;
	errno = spawn(&pid, plan, theirs);
	if (errno)
		return not_found(plan, e);
	x->pid = pid;
	x->says = fd_take(&ours);
	/* The pid stays reserved until the child is reaped.  If the host program has
	 * reaped it, or ignores SIGCHLD, the pid may be gone: an eventfd that is
	 * readable at once then stands for the child's end. */
	x->ended = sys_pidfd_open(pid, 0);
	if (x->ended < 0 && errno == ESRCH)
		x->ended = eventfd(1, EFD_CLOEXEC);
	if (x->ended >= 0)
		return 0;
	int sys = errno;
	helper_kill(x);
	errno = sys;
	return error_sys(e, "watch %.200s", plan->program);
}

/* --- end ------------------------------------------------------------------- */

/* Waits by the pidfd: if the host program has reaped the child, the pid may be that
 * of another child by now.  An eventfd in place of the pidfd gives EINVAL. */
static int wait_by(const struct helper *x, siginfo_t *ret)
{
	return x->ended >= 0 ? waitid(P_PIDFD, (id_t)x->ended, ret, WEXITED) :
			       waitid(P_PID, (id_t)x->pid, ret, WEXITED);
}

static int status_of(const struct helper *x)
{
	siginfo_t info;
	int rc;

	do {
		rc = wait_by(x, &info);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -1;
	return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

static void reap(struct helper *x)
{
	if (x->pid > 0)
		x->status = status_of(x);
	x->pid = 0;
	own_close(&x->ended);
	own_close(&x->says);
}

static void wait_for_end(const struct helper *x)
{
	struct pollfd w = { .fd = x->ended, .events = POLLIN };

	while (poll(&w, 1, -1) < 0 && errno == EINTR)
		;
}

size_t helper_finish(struct helper *x, char *said, size_t size, int *ret_fd)
{
	size_t len = 0;
	ssize_t n;

	*ret_fd = -1;
	wait_for_end(x);
	do {
		int fd = -1;
		n = fd_pass_receive(x->says, said + len, size - 1 - len, &fd);
		len += n > 0 ? (size_t)n : 0;
		if (fd != -1) {
			own_close(ret_fd);
			*ret_fd = fd;
		}
	} while (n > 0 && len < size - 1);
	said[len] = '\0';
	reap(x);
	return len;
}

static bool is_our_child(pid_t pid)
{
	siginfo_t info;

	return pid > 0 &&
	       waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void helper_kill(struct helper *x)
{
	/* Sends the signal by the pidfd or, if there is none, to the pid if that
	 * still belongs to our child. */
	if (x->ended >= 0)
		(void)sys_pidfd_send_signal(x->ended, SIGKILL);
	else if (is_our_child(x->pid))
		(void)kill(x->pid, SIGKILL);
	reap(x);
}

void helper_leave(struct helper *x)
{
	own_close(&x->ended);
	own_close(&x->says);
	x->pid = 0;
}
