/* sockets -- connections and pipes for a test.  Include it behind cmocka.h. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "tests/patience.h"

/* Returns whether poll(2) reports the event at once. */
static inline bool comes(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, PATIENCE_MS) == 1;
}

static inline int listen_at(int family, uint16_t *ret_port)
{
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *at = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (family == AF_INET6 && fd >= 0)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, at, len) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, at, &len) < 0) {
		own_close(&fd);
		return -1;
	}
	*ret_port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	return fd;
}

static inline int connect_at(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* Makes a TCP connection: a unix socket reports its end and a reset differently. */
static inline void tcp_pair(int ret[2])
{
	uint16_t port;
	int listener = listen_at(AF_INET, &port);

	ret[0] = connect_at(port);
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ret[1] >= 0);
	own_close(&listener);
}

static inline void unblock(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static inline void must_read(int fd, const char *text)
{
	char got[64] = "";
	size_t len = 0;

	while (len < strlen(text) && comes(fd, POLLIN)) {
		ssize_t n = read(fd, got + len, strlen(text) - len);
		assert_true(n > 0);
		len += (size_t)n;
	}
	assert_string_equal(got, text);
}

/* Returns how the peer ended the connection: 0 for an orderly end, ECONNRESET
 * for a reset. */
static inline int how_it_ends(int fd)
{
	char byte;

	assert_true(comes(fd, POLLIN));
	ssize_t n = read(fd, &byte, 1);
	assert_true(n <= 0);
	return n < 0 ? errno : 0;
}

static inline bool has_nothing(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

/* Resets the connection, as the kernel does for a killed process that had
 * unread data, or for linger 0. */
static inline void reset(int *fd)
{
	struct linger now = { 1, 0 };

	(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	own_close(fd);
}
