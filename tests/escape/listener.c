/* listener -- the host's side of the socket probes.
 *
 * Listens at every address of both families on one TCP port, on an abstract
 * unix socket and on a unix socket by path; accepts and closes every
 * connection.  At the two names that end in PROBE_DATAGRAM it answers each
 * datagram with the descriptor of its stdin.  Prints "PORT\n" when all of them
 * listen, and ends when its stdin does.
 *
 *	listener ABSTRACT-NAME PATH */
#include "base/own.h"
#include "tests/escape/probe.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Makes a socket with that name; it does not listen yet. */
static int bind_unix(const char *name, const char *end, bool is_abstract, int type)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char *path = un.sun_path + is_abstract;
	size_t len = strlen(name) + strlen(end);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (len > sizeof(un.sun_path) - 2)
		return -1;
	memcpy(path, name, strlen(name));
	memcpy(path + strlen(name), end, strlen(end));
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	return bind(fd, (struct sockaddr *)&un, (socklen_t)len) ? -1 : fd;
}

static int listen_unix(const char *name, bool is_abstract)
{
	int fd = bind_unix(name, "", is_abstract, SOCK_STREAM);

	return fd < 0 || listen(fd, 64) ? -1 : fd;
}

static void answer_datagram(int sock)
{
	struct sockaddr_un un;
	socklen_t len = sizeof(un);
	char byte;

	if (recvfrom(sock, &byte, 1, MSG_DONTWAIT, (struct sockaddr *)&un, &len) < 0 ||
	    len <= sizeof(un.sun_family))
		return;
	/* Answers from a new socket, since a connected socket has only one peer. */
	AUTO_CLOSE int back =
		socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!connect(back, (struct sockaddr *)&un, len))
		(void)socket_send_fd(back, 0); /* the probe notices a failure */
}

/* A v6 socket accepts v4 as well unless told otherwise; where the host has no
 * v6, this listens on v4 alone.  Returns the descriptor. */
static int listen_tcp(int *ret_port)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	socklen_t len = sizeof(v6);
	int no = 0;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
		if (bind(fd, (struct sockaddr *)&v6, sizeof(v6)))
			return -1;
	} else {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (bind(fd, (struct sockaddr *)&v4, sizeof(v4)))
			return -1;
	}
	/* The port is at the same offset in both kinds of address. */
	if (listen(fd, 64) || getsockname(fd, (struct sockaddr *)&v6, &len))
		return -1;
	*ret_port = ntohs(v6.sin6_port);
	return fd;
}

/* Makes a segment of shared memory that all users may use, under a key derived
 * from the port. */
static int share(int port)
{
	int id = shmget(PROBE_SHM_KEY(port), 64, IPC_CREAT | 0666);
	char *at = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (at == (void *)-1)
		return -1;
	memcpy(at, "of the host", sizeof("of the host"));
	return shmdt(at);
}

static void take(bool is_stream, const struct pollfd *from)
{
	if (!from->revents)
		return;
	if (!is_stream)
		answer_datagram(from->fd);
	else
		(void)close(accept(from->fd, NULL, NULL)); /* -1 does no harm */
}

int main(int argc, char **argv)
{
	struct pollfd polls[6] = { { .fd = 0, .events = POLLIN } };
	int port = 0;

	if (argc != 3)
		return 125;
	(void)umask(0); /* every user may connect to the path; umask(2) cannot fail */
	polls[1].fd = listen_tcp(&port);
	polls[2].fd = listen_unix(argv[1], true);
	polls[3].fd = listen_unix(argv[2], false);
	polls[4].fd = bind_unix(argv[1], PROBE_DATAGRAM, true, SOCK_DGRAM);
	polls[5].fd = bind_unix(argv[2], PROBE_DATAGRAM, false, SOCK_DGRAM);
	for (size_t i = 1; i < ARRAY_LEN(polls); i++) {
		polls[i].events = POLLIN;
		if (polls[i].fd < 0)
			return 1;
	}
	if (share(port) < 0)
		return 1;
	printf("%d\n", port);
	fflush(stdout);
	while (poll(polls, ARRAY_LEN(polls), -1) > 0) {
		if (polls[0].revents)
			return 0;
		for (size_t i = 1; i < ARRAY_LEN(polls); i++)
			take(i < 4, &polls[i]);
	}
	return 1;
}
