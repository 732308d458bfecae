#include "supervisor/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"

/* The option exists since kernel 6.5; the headers of Debian 12 lack it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A map has at most 340 lines (user_namespaces(7)) of three numbers. */
#define MAP_MAX 16384
#define ALL_IDS 4294967295u

/* Opens a pidfd of the peer.  Kernels before 6.5 can open it only by pid, which may be
 * another process if the peer has ended and its pid was reused meanwhile. */
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

static char *read_map(const char *process, const char *map)
{
	AUTO_FREE char *path = text_format("/proc/%s/%s", process, map);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, path, MAP_MAX, &text, &len, NULL) < 0)
		return NULL;
	return text;
}

struct range {
	unsigned inside, outside, count;
};

static bool next_range(const char **at, struct range *ret)
{
	int len = 0;

	if (sscanf(*at, "%u %u %u%n", &ret->inside, &ret->outside, &ret->count, &len) < 3)
		return false;
	*at += len;
	return true;
}

/* Returns whether the map contains the id.  In the map of a child namespace, ids that
 * our namespace does not have are shown as 4294967295. */
static bool has_id(const char *map, unsigned id)
{
	struct range r;

	while (next_range(&map, &r))
		if (id >= r.inside && id - r.inside < r.count)
			return true;
	return false;
}

static bool can_tell(const char *map)
{
	const char *at = map;
	struct range r;

	while (next_range(&at, &r))
		if (r.count == ALL_IDS || !has_id(map, r.outside))
			return true;
	return false;
}

void peer_self_init(struct peer_self *self)
{
	struct stat mine;

	*self = (struct peer_self){ .uid_map = read_map("self", "uid_map"),
				    .gid_map = read_map("self", "gid_map") };
	if (stat("/proc/self/ns/user", &mine) == 0) {
		self->dev = mine.st_dev;
		self->ino = mine.st_ino; /* on failure it stays 0, which is no inode's
					  * number, so no peer matches */
	}
	self->can_tell = self->uid_map && self->gid_map && can_tell(self->uid_map);
}

void peer_self_done(struct peer_self *self)
{
	own_free(&self->uid_map);
	own_free(&self->gid_map);
}

/* Returns whether the process has the same id map as we have.  A process that reads its
 * own namespace's map sees ids of the parent namespace in it; in the map of another
 * namespace it sees ids of its own (user_namespaces(7)). */
static bool has_map(pid_t pid, const char *map, const char *ours)
{
	AUTO_FREE char *number = text_format("%d", (int)pid);
	AUTO_FREE char *its = read_map(number, map);

	return its && *ours && !strcmp(ours, its);
}

static bool has_maps(const struct peer_self *self, pid_t pid)
{
	return self->can_tell && has_map(pid, "uid_map", self->uid_map) &&
	       has_map(pid, "gid_map", self->gid_map);
}

static bool is_in(const struct peer_self *self, pid_t pid)
{
	char path[32];
	struct stat its;

	if (self->is_in_domain)
		return has_maps(self, pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	if (stat(path, &its) == 0)
		return its.st_dev == self->dev && its.st_ino == self->ino;
	return errno == EACCES && has_maps(self, pid);
}

int peer_check(const struct peer_self *self, int fd, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(e, "read the peer's credentials");
	if (peer.uid != geteuid())
		return err_set(e, ERR_REFUSED, "the peer is another user");
	AUTO_CLOSE int pidfd = open_peer(fd, peer.pid);
	/* is_in() has looked at the process by its pid.  If the peer still lives, the
	 * pid was not reused, so that process was the peer. */
	if (pidfd < 0)
		return err_sys(e, "look at the peer");
	if (!is_in(self, peer.pid) || !is_alive(pidfd))
		return err_set(e, ERR_REFUSED, "the peer is in another user namespace");
	return 0;
}
