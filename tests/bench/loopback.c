/* loopback -- the price of setting the loopback device up by one ioctl, as hutch does, and
 * by libnl, in processor time of each.  No program of hutch is linked with libnl, so it is
 * compiled by hand (package libnl-3-dev):
 *
 *	cc -O2 -static -I/usr/include/libnl3 -o loopback tests/bench/loopback.c -lnl-3
 *	unshare -Urn ./loopback ioctl 10000
 *	unshare -Urn ./loopback netlink 10000 */
#include <err.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>

static int by_ioctl(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int done = ioctl(fd, SIOCSIFFLAGS, &lo);

	(void)close(fd);
	return done;
}

static int by_netlink(void)
{
	struct ifinfomsg up = { .ifi_index = 1,
				.ifi_flags = IFF_UP,
				.ifi_change = IFF_UP };
	struct nl_sock *s = nl_socket_alloc();
	struct nl_msg *m = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	int done = nl_connect(s, NETLINK_ROUTE);

	if (done == 0)
		done = nlmsg_append(m, &up, sizeof(up), NLMSG_ALIGNTO);
	if (done == 0)
		done = nl_send_sync(s, m); /* frees the message */
	nl_socket_free(s);
	return done;
}

static double cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* valid arguments */
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	const int count = argc == 3 ? atoi(argv[2]) : 0;
	int (*raise)(void) = argc > 1 && !strcmp(argv[1], "netlink") ? by_netlink
								     : by_ioctl;

	if (count <= 0)
		errx(2, "usage: loopback ioctl|netlink COUNT");
	const double begin = cpu_us();
	for (int i = 0; i < count; i++)
		if (raise() < 0)
			err(1, "%s", argv[1]);
	printf("%s %.2f us\n", argv[1], (cpu_us() - begin) / count);
	return 0;
}
