#include "sandbox/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

/* The kernel adds 127.0.0.1 and ::1 by itself; one ioctl of netdevice(7) is all
 * that is asked here, so no netlink library is.  0, or an errno. */
static int make_namespace(int ns)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (unshare(CLONE_NEWNET) < 0)
		return errno;
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return errno;
	/* Of a socket and not by path: /proc may be changing under us. */
	AUTO_CLOSE int made = ioctl(fd, SIOCGSKNS);
	if (made < 0 || dup3(made, ns, O_CLOEXEC) < 0)
		return errno;
	return 0;
}

int network_begin(struct network *n, struct err *e)
{
	/* CLONE_FILES alone: with shared memory the two would share errno. */
	struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };

	/* Holds the place that the helper fills. */
	n->ns = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (n->ns < 0)
		return err_sys(e, "open /dev/null");
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return err_sys(e, "start a process for the network namespace");
	if (pid == 0)
		_exit(make_namespace(n->ns));
	n->helper = (pid_t)pid;
	return 0;
}

static int refused(int sys, struct err *e)
{
	errno = sys;
	(void)err_sys(e, "make a network namespace");
	if (sys == ENOSPC)
		return err_remedy(e, "the bound user.max_net_namespaces is reached; as root: "
				     "sysctl -w user.max_net_namespaces=10000");
	return err_remedy(e, "--network host does without one; everything on this host's "
			     "network is then in reach");
}

int network_enter(struct network *n, struct err *e)
{
	int status;

	while (waitpid(n->helper, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for the network namespace");
	n->helper = 0;
	if (!WIFEXITED(status))
		return err_set(e, ERR_INTERNAL, "the network helper ended by signal %d",
			       WTERMSIG(status));
	if (WEXITSTATUS(status))
		return refused(WEXITSTATUS(status), e);
	if (setns(n->ns, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the network namespace");
	own_close(&n->ns);
	return 0;
}
