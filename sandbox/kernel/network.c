#include "sandbox/kernel/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

int network_place(struct err *e)
{
	int place = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return place < 0 ? err_sys(e, "open /dev/null") : place;
}

/* Makes the namespace and puts a descriptor of it at `place`.  Sets the loopback
 * device up, whereupon the kernel adds 127.0.0.1 and ::1 by itself.  One ioctl of
 * netdevice(7) does that; libnl would cost a launch 3 % (docs/dependencies.md).
 * Returns -1 with errno set. */
static int make_namespace(int place)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return -1;
	/* The descriptor of the namespace comes from a socket (SIOCGSKNS), not from a
	 * path: the launch is making mounts meanwhile, which change /proc. */
	AUTO_CLOSE int made = ioctl(fd, SIOCGSKNS);
	return made < 0 ? -1 : dup3(made, place, O_CLOEXEC);
}

int network_make(int place, struct err *e)
{
	if (make_namespace(place) >= 0)
		return 0;
	int sys = errno;
	(void)err_sys(e, "make a network namespace");
	if (sys == ENOSPC)
		return err_remedy(
			e, "the bound user.max_net_namespaces is reached; as root: "
			   "sysctl -w user.max_net_namespaces=10000");
	return err_remedy(e, "--network host does without one; everything on this host's "
			     "network is then in reach");
}

int network_enter(int *place, struct err *e)
{
	if (setns(*place, CLONE_NEWNET) < 0)
		return err_sys(e, "enter the network namespace");
	own_close(place);
	return 0;
}
