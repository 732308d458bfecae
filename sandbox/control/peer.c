#include "sandbox/control/peer.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"

/* Since 6.5; in no header of Debian 12. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Before 6.5 by number: right unless the peer has ended and its number was given
 * to another process in between. */
static int open_peer(int fd, pid_t pid)
{
	int pidfd;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return sys_pidfd_open(pid, 0);
}

static bool is_alive(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static bool is_same_namespace(pid_t pid)
{
	char path[64];
	struct stat mine, its;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &mine) == 0 && stat(path, &its) == 0 &&
	       mine.st_dev == its.st_dev && mine.st_ino == its.st_ino;
}

int peer_check(int fd, struct err *e)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return err_sys(e, "ask who the peer is");
	if (who.uid != geteuid())
		return err_set(e, ERR_REFUSED, "the peer is another user");
	AUTO_CLOSE int pidfd = open_peer(fd, who.pid);
	/* What was looked at was the peer if that is alive afterwards. */
	if (pidfd < 0 || !is_same_namespace(who.pid) || !is_alive(pidfd))
		return err_set(e, ERR_REFUSED, "the peer is in another user namespace");
	return 0;
}
