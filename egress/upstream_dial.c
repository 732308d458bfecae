#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/own.h"
#include "egress/upstream.h"
#include "egress/upstream_loop.h"

static socklen_t make_sockaddr(const struct address *a, uint16_t port,
			       struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (a->family == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, a->bytes, sizeof(v4->sin_addr));
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, a->bytes, sizeof(v6->sin6_addr));
	return sizeof(*v6);
}

static size_t attempts_of(const struct connection *c)
{
	size_t count = 0;

	for (size_t i = 0; i < DIALER_ADDRESSES_MAX; i++)
		count += c->fds[i] >= 0;
	return count;
}

/* Closes the socket of an attempt, or, with `keeps`, only ends the watch. */
static int take_attempt(struct upstream *u, struct connection *c, size_t i)
{
	if (c->fds[i] < 0)
		return -1;
	if (attempts_of(c) > 1)
		u->extra--;
	u->owners[c->fds[i]] = NULL;
	(void)epoll_ctl(u->epoll, EPOLL_CTL_DEL, c->fds[i], NULL); /* fails for one that
		was connected at once */
	return fd_take(&c->fds[i]);
}

static void drop_attempt(struct upstream *u, struct connection *c, size_t i)
{
	AUTO_CLOSE int fd = take_attempt(u, c, i);
}

void upstream_dial_stop(struct upstream *u, struct connection *c)
{
	for (size_t i = 0; i < DIALER_ADDRESSES_MAX; i++)
		drop_attempt(u, c, i);
}

/* The sockets of both sides pass on what has come at once; a peer that has vanished is
 * noticed at some time. */
void upstream_dial_options(int fd)
{
	const int on = 1;

	/* A failure costs speed, and nothing else. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void connected(struct upstream *u, struct connection *c, size_t i)
{
	c->fd = take_attempt(u, c, i);
	c->peer = c->dialer.addresses[i];
	upstream_dial_stop(u, c);
	upstream_dial_options(c->fd);
	upstream_allow(u, c);
}

/* Makes the socket of an attempt.  Returns -1 where descriptors are short. */
static int make_attempt(struct upstream *u, struct connection *c, size_t i)
{
	const int family = c->dialer.addresses[i].family == 4 ? AF_INET : AF_INET6;
	const bool is_extra = attempts_of(c) > 0;

	if (is_extra && u->count + u->extra >= u->fds)
		return -1;
	AUTO_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || fd >= UPSTREAM_FDS_MAX)
		return fd < 0 && errno == EAFNOSUPPORT ? 1 : -1;
	u->owners[fd] = c;
	u->extra += is_extra;
	c->fds[i] = fd_take(&fd);
	return 0;
}

enum outcome { CONNECTED, UNDER_WAY, FAILED, NO_ROOM };

static enum outcome try(struct upstream *u, struct connection *c, size_t i)
{
	struct sockaddr_storage to;
	socklen_t len = make_sockaddr(&c->dialer.addresses[i], c->goal.port, &to);
	int made = make_attempt(u, c, i);

	if (made != 0)
		return made > 0 ? FAILED : NO_ROOM;
	if (connect(c->fds[i], (const struct sockaddr *)&to, len) == 0)
		return CONNECTED;
	struct epoll_event event = { .events = EPOLLOUT,
				     .data.u64 = UPSTREAM_ATTEMPT | (uint32_t)c->fds[i] };
	if (errno == EINPROGRESS &&
	    epoll_ctl(u->epoll, EPOLL_CTL_ADD, c->fds[i], &event) == 0)
		return UNDER_WAY;
	drop_attempt(u, c, i);
	return FAILED;
}

void upstream_dial_step(struct upstream *u, struct connection *c)
{
	for (;;) {
		enum dialer_step step = dialer_next(&c->dialer, u->now);
		if (step == DIALER_WAIT)
			return;
		if (step == DIALER_FAILED) {
			upstream_refuse(u, c, REASON_UPSTREAM_FAILED);
			return;
		}
		size_t at = c->dialer.at;
		enum outcome outcome = try(u, c, at);
		if (outcome == CONNECTED) {
			connected(u, c, at);
			return;
		}
		if (outcome == FAILED)
			dialer_failed(&c->dialer, at, u->now);
		else if (outcome == NO_ROOM)
			dialer_hold(&c->dialer, u->now);
	}
}

void upstream_dial(struct upstream *u, struct connection *c,
		   const struct address *addresses, size_t count)
{
	c->state = CONNECTION_DIALING;
	dialer_init(&c->dialer, addresses, count, u->now);
	c->peer = c->dialer.addresses[0];
	upstream_dial_step(u, c);
}

/* Returns whether connect(2) has succeeded.  The peer's address is asked for, since an
 * event may be of an older socket with the same number. */
static bool has_peer(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

static bool has_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error;
}

void upstream_dial_ready(struct upstream *u, int fd)
{
	struct connection *c = fd < UPSTREAM_FDS_MAX ? u->owners[fd] : NULL;
	size_t i = 0;

	if (!c)
		return;
	while (c->fds[i] != fd)
		i++;
	if (has_error(fd)) {
		drop_attempt(u, c, i);
		dialer_failed(&c->dialer, i, u->now);
		upstream_dial_step(u, c);
	} else if (has_peer(fd)) {
		connected(u, c, i);
	}
}
