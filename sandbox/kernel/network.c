#include "sandbox/kernel/network.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/raw_call.h"
#include "base/worker.h"

/* A sanitizer keeps what it knows about stacks in memory that the two processes share. */
#define BESIDE __attribute__((no_sanitize("address")))

/* Makes the namespace and returns a descriptor of it, or a negative errno.  Sets the
 * loopback device up, whereupon the kernel adds 127.0.0.1 and ::1 by itself.  One ioctl of
 * netdevice(7) does that; libnl would cost a launch 3 % (docs/dependencies.md).
 *
 * The process beside the mounts shares their errno, so this function leaves errno alone
 * (raw_call.h). */
BESIDE static int make_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	const int type = SOCK_DGRAM | SOCK_CLOEXEC;

	long made = raw_call(SYS_unshare, CLONE_NEWNET, 0, 0);
	if (made < 0)
		return (int)made;
	const long fd = raw_call(SYS_socket, AF_INET, type, 0);
	if (fd < 0)
		return (int)fd;
	made = raw_call(SYS_ioctl, fd, SIOCSIFFLAGS, (long)&lo);
	/* The descriptor of the namespace comes from a socket (SIOCGSKNS), not from a
	 * path: the launch is making mounts meanwhile, which change /proc. */
	if (made >= 0)
		made = raw_call(SYS_ioctl, fd, SIOCGSKNS, 0);
	(void)raw_call(SYS_close, fd, 0, 0);
	return (int)made;
}

static int cannot_make(int sys, struct err *e)
{
	errno = sys;
	(void)err_sys(e, "make a network namespace");
	if (sys == ENOSPC)
		return err_remedy(
			e, "the bound user.max_net_namespaces is reached; as root: "
			   "sysctl -w user.max_net_namespaces=10000");
	return err_remedy(e, "--network host does without one; everything on this host's "
			     "network is then in reach");
}

int network_make(struct err *e)
{
	const int made = make_namespace();

	return made < 0 ? cannot_make(-made, e) : made;
}

/* --- beside the caller ------------------------------------------------------------ */

#define STACK_SIZE (16 << 10)

BESIDE static int make_beside(void *arg)
{
	struct network_maker *m = arg;

	m->made = make_namespace();
	return 0;
}

int network_begin(struct network_maker *m, struct err *e)
{
	const int flags = CLONE_VM | CLONE_FILES | SIGCHLD;

	m->made = -1; /* until the process has told; it may be killed before */
	m->stack = mem_new(STACK_SIZE);
	/* clone(2) takes the end of the stack, at a multiple of 16 bytes. */
	char *end = m->stack + STACK_SIZE;
	end -= (uintptr_t)end % 16;
	m->pid = clone(make_beside, end, flags, m);
	if (m->pid > 0)
		return 0;
	m->pid = 0;
	(void)err_sys(e, "start a helper process");
	own_free(&m->stack);
	return -1;
}

int network_end(struct network_maker *m, struct err *e)
{
	const int status = worker_reap(m->pid);
	AUTO_CLOSE int made = m->made;

	m->pid = 0;
	own_free(&m->stack);
	if (status != 0)
		return err_set(e, ERR_SYSTEM, "a helper process ended with status %#x",
			       (unsigned)status);
	return made < 0 ? cannot_make(-made, e) : network_enter(&made, e);
}

int network_enter(int *made, struct err *e)
{
	if (setns(*made, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the network namespace");
	own_close(made);
	return 0;
}
