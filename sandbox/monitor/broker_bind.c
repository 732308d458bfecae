#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/monitor/broker_parts.h"

/* The first port that the kernel tries when it looks for a free netlink port, and the
 * number of ports that the broker tries. */
#define NETLINK_FIRST 4097
#define NETLINK_PORTS 1024

/* Returns whether the address is a path: neither of another family nor
 * abstract nor unnamed (unix(7)). */
static bool has_path(const struct sockaddr_storage *address, socklen_t len)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)address;

	return len > offsetof(struct sockaddr_un, sun_path) && un->sun_family == AF_UNIX &&
	       *un->sun_path;
}

static int bind_it(int fd, const void *address, socklen_t len)
{
	return bind(fd, address, len) < 0 ? -errno : 0;
}

/* Binds a netlink socket.  A port of 0 asks the kernel to choose, and the kernel
 * takes the pid of the binding process (netlink(7)).  The broker asks for the
 * caller's pid instead, since the broker's own pid on the host must not be known
 * inside.  If that port is taken, the broker tries numbers below zero, as the kernel
 * does. */
static int bind_netlink(const struct job *j, int fd, struct sockaddr_nl *address,
			socklen_t len)
{
	int error = -EADDRINUSE;

	address->nl_pid = (uint32_t)j->process;
	for (uint32_t below = 0; error == -EADDRINUSE && below < NETLINK_PORTS; below++) {
		error = bind_it(fd, address, len);
		address->nl_pid = (uint32_t)-(NETLINK_FIRST + (int)below);
	}
	if (error != -EINVAL)
		return error;
	/* EINVAL: the socket is bound already, or the address is invalid.  Binding
	 * the address as the caller gave it returns the caller's own error. */
	address->nl_pid = 0;
	return bind_it(fd, address, len);
}

static bool asks_for_port(const struct sockaddr_storage *address, socklen_t len)
{
	const struct sockaddr_nl *nl = (const struct sockaddr_nl *)address;

	return len >= sizeof(*nl) && nl->nl_family == AF_NETLINK && !nl->nl_pid;
}

static int bind_in(int folder, int fd, const struct sockaddr_un *address, socklen_t len)
{
	return fchdir(folder) < 0 ? -errno : bind_it(fd, address, len);
}

/* Binds to the path's last name alone, relative to the folder in which that
 * name is. */
static int bind_name(int fd, const struct spot *s)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const size_t len = strlen(s->name);

	if (len > sizeof(name.sun_path))
		return -EINVAL;
	memcpy(name.sun_path, s->name, len);
	return bind_in(s->dir, fd, &name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* Binds to the address as the caller gave it, since getsockname(2) tells that
 * address.  No process can make the path lead elsewhere meanwhile, except
 * through a link of procfs. */
static int bind_spot(const struct job *j, int fd, const struct spot *s, int base,
		     const struct sockaddr_un *address, socklen_t len)
{
	if (!*s->name)
		return -EADDRINUSE; /* the path names the folder itself, which exists */
	const int refused = spot_allows(j, s, MAKING_FILE);
	if (refused)
		return refused;
	if (j->path_walk.has_magic)
		return bind_name(fd, s);
	return bind_in(base < 0 ? s->dir : base, fd, address, len);
}

static int bind_path(struct job *j, int fd, const struct sockaddr_un *address, socklen_t len)
{
	const size_t room = len - offsetof(struct sockaddr_un, sun_path);
	char path[sizeof(address->sun_path) + 1] = "";
	struct spot s = { .dir = -1 };

	if (room > sizeof(address->sun_path))
		return -EINVAL;
	memcpy(path, address->sun_path, room);
	AUTO_CLOSE int base = *path == '/' ? -1 : job_base(j, AT_FDCWD);
	if (*path != '/' && base < 0)
		return base;
	int error = spot_find(&j->path_walk, base, path, &s);
	if (!error)
		error = bind_spot(j, fd, &s, base, address, len);
	spot_done(&s);
	return error;
}

int job_bind(struct job *j, int fd, uint64_t at, uint64_t len)
{
	struct sockaddr_storage address = { 0 };

	if (len > sizeof(address))
		return -EINVAL;
	const int error = len ? job_read(j, at, &address, (size_t)len) : 0;
	if (error)
		return error;
	AUTO_CLOSE int copy = job_copy(j, fd);
	if (copy < 0)
		return copy;
	if (has_path(&address, (socklen_t)len))
		return bind_path(j, copy, (const struct sockaddr_un *)&address, (socklen_t)len);
	if (asks_for_port(&address, (socklen_t)len))
		return bind_netlink(j, copy, (struct sockaddr_nl *)&address, (socklen_t)len);
	return bind_it(copy, &address, (socklen_t)len);
}
