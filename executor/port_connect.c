#include "executor/port_connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/processes.h"
#include "protocol/message.h"
#include "protocol/socket_splice.h"

#define EVENTS_AT_ONCE 64
#define FDS_OF_ONE     3 /* descriptors of one connection: the socket and two pipes */

enum state { CONNECTING, OPEN, CLOSED };

struct dial {
	uint32_t id;
	enum state state;
	struct socket_splice splice;
	uint16_t port;
	bool is_second;		/* 127.0.0.1 has refused, and ::1 is being tried */
	bool has_fds;		/* the connection's descriptors were counted by
				 * processes_reserve() */
	bool has_more;
	bool is_finished_said;
	int sys;		/* when CLOSED, the errno to report; 0: the connection
				 * ended without an error */
};

void port_connect_init(struct port_connect *d, struct processes *processes)
{
	*d = (struct port_connect){ .epoll = -1, .processes = processes };
}

static void forget(struct port_connect *d, struct dial *x)
{
	if (x->has_fds)
		processes_release(d->processes, FDS_OF_ONE);
	socket_splice_done(&x->splice);
	free(x);
}

void port_connect_done(struct port_connect *d)
{
	for (size_t i = 0; i < d->count; i++)
		forget(d, d->all[i]);
	free(d->all);
	own_close(&d->epoll);
	*d = (struct port_connect){ .epoll = -1 };
}

static struct dial *find(const struct port_connect *d, uint32_t id)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->id == id)
			return d->all[i];
	return NULL;
}

bool port_connect_has(const struct port_connect *d, uint32_t id)
{
	return find(d, id) != NULL;
}

/* --- connecting ------------------------------------------------------------------- */

/* Returns a non-blocking socket that is connecting to the port inside; -1 with errno
 * set. */
static int connect_to(uint16_t port, bool is_second)
{
	const struct sockaddr_in first = { .sin_family = AF_INET, .sin_port = htons(port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 second = { .sin6_family = AF_INET6,
					     .sin6_port = htons(port),
					     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const int yes = 1;
	AUTO_CLOSE int fd = socket(is_second ? AF_INET6 : AF_INET,
				   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* Disables Nagle's algorithm: bytes that were written at once are sent at once,
	 * since their writer has chosen when to send. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	/* The kernel gives this end a port of its own, which may be the one that a server
	 * inside binds to later; with SO_REUSEADDR on both sockets, it can (socket(7)). */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	int got = is_second
			  ? connect(fd, (const struct sockaddr *)&second, sizeof(second))
			  : connect(fd, (const struct sockaddr *)&first, sizeof(first));
	return got < 0 && errno != EINPROGRESS ? -1 : fd_take(&fd);
}

static void close_one(struct port_connect *d, struct dial *x, int sys)
{
	x->state = CLOSED;
	x->sys = sys;
	x->has_more = false;
	d->has_news = true;
	if (sys)
		socket_splice_reset(&x->splice);
	else
		socket_splice_done(&x->splice);
}

/* Tries ::1 if no server listens at 127.0.0.1: a server may have bound to "localhost" and
 * got only ::1.  If both refuse, the first one's error is reported. */
static void try_second(struct port_connect *d, struct dial *x, int sys)
{
	if (x->is_second || sys != ECONNREFUSED)
		return close_one(d, x, x->is_second ? ECONNREFUSED : sys);
	x->is_second = true;
	own_close(&x->splice.socket);
	x->splice.socket = connect_to(x->port, true);
	if (x->splice.socket < 0 || !socket_splice_watch_socket(&x->splice))
		close_one(d, x, sys);
}

static void begin(struct port_connect *d, struct dial *x)
{
	if (d->epoll < 0)
		d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0)
		return close_one(d, x, errno);
	x->splice.socket = connect_to(x->port, false);
	if (x->splice.socket < 0 && errno != ECONNREFUSED)
		return close_one(d, x, errno);
	if (!socket_splice_watch(&x->splice, d->epoll, x->id))
		return close_one(d, x, errno);
	if (x->splice.socket < 0)
		try_second(d, x, ECONNREFUSED);
}

/* --- moving ----------------------------------------------------------------------- */

/* Moves the connection's bytes; `event` may be NULL. */
static void run(struct port_connect *d, struct dial *x, const struct epoll_event *event)
{
	enum socket_splice_state now = event ? socket_splice_take(&x->splice, event)
					     : socket_splice_run(&x->splice);

	x->has_more = now == SOCKET_SPLICE_HAS_MORE;
	d->has_more = d->has_more || x->has_more;
	d->has_news = d->has_news || x->splice.out < 0;
	if (now == SOCKET_SPLICE_BROKEN)
		close_one(d, x, x->splice.sys == EPIPE ? ECONNRESET : x->splice.sys);
	else if (x->splice.is_unheard)
		close_one(d, x, ECONNRESET);
	else if (socket_splice_is_over(&x->splice))
		close_one(d, x, 0);
}

/* Returns true if the socket is connected to itself: where no server listens at a port of
 * ip_local_port_range, the kernel may give that same port to the end that connects, which
 * then answers itself (RFC 9293, simultaneous open). */
static bool is_own_peer(int fd, const struct sockaddr_storage *peer, socklen_t peer_len)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);

	return getsockname(fd, (struct sockaddr *)&own, &len) == 0 && len == peer_len &&
	       memcmp(&own, peer, len) == 0;
}

/* Returns true if the connection is established.  The socket becomes writable once
 * connect(2) has succeeded or failed, and SO_ERROR has the error. */
static bool is_connected(struct port_connect *d, struct dial *x)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct sockaddr_storage peer;
	socklen_t len = sizeof(int), peer_len = sizeof(peer);
	int sys = 0;

	if (getsockopt(x->splice.socket, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
		sys = errno;
	if (sys) {
		try_second(d, x, sys);
		return false;
	}
	/* The event that led here may have come from one of the pipes, and then the
	 * socket may still be connecting. */
	if (getpeername(x->splice.socket, (struct sockaddr *)&peer, &peer_len) < 0)
		return false;
	if (!is_own_peer(x->splice.socket, &peer, peer_len))
		return true;
	/* A reset leaves no TIME_WAIT, which would keep the port from its server. */
	(void)setsockopt(x->splice.socket, SOL_SOCKET, SO_LINGER, &at_once,
			 sizeof(at_once));
	try_second(d, x, ECONNREFUSED);
	return false;
}

static void serve(struct port_connect *d, struct dial *x, const struct epoll_event *event)
{
	if (x->state == OPEN)
		return run(d, x, event);
	if (x->state == CONNECTING && is_connected(d, x)) {
		x->state = OPEN;
		run(d, x, NULL); /* earlier events may have been of other bytes */
	}
}

void port_connect_start(struct port_connect *d, const struct dial_request *request)
{
	struct dial *x = mem_zeroed(1, sizeof(*x));

	x->id = request->id;
	x->port = (uint16_t)request->port;
	socket_splice_init(&x->splice, -1, request->in, request->out);
	bool is_one_more = d->count < PORT_CONNECTS_MAX;
	x->has_fds = is_one_more && processes_reserve(d->processes, FDS_OF_ONE);
	if (d->count == d->room) {
		d->room = d->room ? d->room * 2 : 8;
		d->all = mem_resize(d->all, d->room, sizeof(*d->all));
	}
	d->all[d->count++] = x;
	if (!x->has_fds)
		return close_one(d, x, is_one_more ? EMFILE : EAGAIN);
	begin(d, x);
	/* On the loopback connect(2) mostly returns with the connection established. */
	if (x->state == CONNECTING)
		serve(d, x, NULL);
}

void port_connect_finish(struct port_connect *d, uint32_t id)
{
	struct dial *x = find(d, id);

	if (!x || x->state == CLOSED)
		return;
	socket_splice_finish(&x->splice);
	serve(d, x, NULL);
}

void port_connect_hang_up(struct port_connect *d, uint32_t id)
{
	struct dial *x = find(d, id);

	if (x && x->state != CLOSED)
		serve(d, x, NULL);
	if (x && x->state != CLOSED)
		close_one(d, x, ECONNRESET);
}

int port_connect_fd(const struct port_connect *d)
{
	return d->epoll;
}

bool port_connect_has_more(const struct port_connect *d)
{
	return d->has_more;
}

void port_connect_serve(struct port_connect *d)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = d->epoll < 0 ? 0
				 : epoll_pwait(d->epoll, events, EVENTS_AT_ONCE, 0, NULL);

	d->has_more = false;
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->has_more)
			run(d, d->all[i], NULL);
	for (int i = 0; i < count; i++) {
		struct dial *x = find(d, (uint32_t)events[i].data.u64);
		if (x && !x->has_more)
			serve(d, x, &events[i]);
	}
}

bool port_connect_are_reported(const struct port_connect *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->all[i]->state == OPEN && d->all[i]->splice.out >= 0)
			return false;
	return true;
}

/* --- reporting -------------------------------------------------------------------- */

static int report(struct dial *x, struct buffer *out, struct err *e)
{
	/* A broken connection has lost bytes, so MSG_FINISHED, which says that the output
	 * is complete, is not sent for it. */
	bool has_ended = x->state != CONNECTING && x->splice.out < 0 && x->sys == 0;

	if (has_ended && !x->is_finished_said) {
		x->is_finished_said = true;
		if (message_put_word(out, MSG_FINISHED, x->id, e) < 0)
			return -1;
	}
	if (x->state != CLOSED)
		return 0;
	return message_put_closed(out, x->id, (uint32_t)x->sys, e);
}

int port_connect_report(struct port_connect *d, struct buffer *out, struct err *e)
{
	size_t kept = 0;
	int said = 0;

	for (size_t i = 0; d->has_news && i < d->count; i++) {
		struct dial *x = d->all[i];
		if (said == 0)
			said = report(x, out, e);
		if (x->state == CLOSED)
			forget(d, x);
		else
			d->all[kept++] = x;
	}
	if (d->has_news)
		d->count = kept;
	d->has_news = false;
	return said;
}
