#include "protocol/socket_splice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/own.h"

/* The most bytes of one splice(2); a pipe mostly holds less. */
#define STEP (1u << 20)
/* How many rounds one call makes, so that other connections get their turn. */
#define STEPS_AT_ONCE 4

/* Sets whether close(2) resets the connection: a socket that lingers for 0 seconds sends
 * a reset (socket(7), tcp(7)). */
static void set_reset(int socket, bool is_reset)
{
	const struct linger linger = { .l_onoff = is_reset, .l_linger = 0 };

	if (socket >= 0)
		(void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

void socket_splice_init(struct socket_splice *c, int socket, int in, int out)
{
	*c = (struct socket_splice){
		.socket = socket, .in = in, .out = out, .epoll = -1
	};
	/* The kernel closes the socket if this process is killed, and then resets the
	 * connection: so the client does not take that for a complete end. */
	set_reset(socket, true);
}

static void close_all(struct socket_splice *c)
{
	own_close(&c->in);
	own_close(&c->out);
	own_close(&c->socket);
}

void socket_splice_done(struct socket_splice *c)
{
	set_reset(c->socket, false);
	close_all(c);
}

void socket_splice_reset(struct socket_splice *c)
{
	set_reset(c->socket, true);
	close_all(c);
}

static bool watch(const struct socket_splice *c, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.u64 = c->tag };

	if (fd != c->socket)
		event.data.u64 |= SOCKET_SPLICE_PIPE;
	return fd < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool socket_splice_watch_socket(const struct socket_splice *c)
{
	return watch(c, c->socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
}

bool socket_splice_watch(struct socket_splice *c, int epoll, uint64_t tag)
{
	c->epoll = epoll;
	c->tag = tag;
	return socket_splice_watch_socket(c) && watch(c, c->in, EPOLLIN);
}

void socket_splice_finish(struct socket_splice *c)
{
	c->is_in_whole = true;
}

enum flow { FLOW_MOVED, FLOW_STOPPED, FLOW_ENDED, FLOW_BROKEN };

/* Moves bytes with splice(2). EAGAIN may mean either end; the next event of either is a
 * reason to try again. */
static enum flow move(struct socket_splice *c, int from, int to, uint64_t *count)
{
	ssize_t n = splice(from, NULL, to, NULL, STEP, SPLICE_F_NONBLOCK);

	if (n > 0 || (n < 0 && errno == EINTR)) {
		*count += n > 0 ? (uint64_t)n : 0;
		return FLOW_MOVED;
	}
	if (n == 0)
		return FLOW_ENDED;
	if (errno == EAGAIN)
		return FLOW_STOPPED;
	c->sys = errno;
	return FLOW_BROKEN;
}

/* Watches the pipe `out` for room while the socket has bytes for which there is none, and
 * only then: each splice(2) out of a pipe wakes those who watch its other end, whether the
 * pipe was full or not, and this wake-up would delay the server that gets the bytes.  The
 * socket is asked for bytes, not the pipe for room: if the reader makes room before it is
 * watched, epoll tells that at once. */
static enum socket_splice_state await_room(struct socket_splice *c)
{
	struct pollfd p = { .fd = c->socket, .events = POLLIN };
	const bool is_full = c->out >= 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLIN);

	if (c->epoll < 0 || is_full == c->is_out_watched)
		return SOCKET_SPLICE_WAITS;
	if (is_full && !watch(c, c->out, EPOLLOUT)) {
		c->sys = errno;
		return SOCKET_SPLICE_BROKEN;
	}
	if (!is_full && c->out >= 0)
		(void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->out, NULL); /* is in it */
	c->is_out_watched = is_full;
	return SOCKET_SPLICE_WAITS;
}

/* Returns whether bytes are left to read, or may be. */
static bool has_left(int fd)
{
	int count;

	return ioctl(fd, FIONREAD, &count) < 0 || count > 0;
}

/* Returns whether the pipe has no reader any more, which poll(2) shows as POLLERR
 * (pipe(7)). EPIPE from splice(2) does not suffice, since it may come from the socket. */
static bool is_pipe_deaf(int pipe)
{
	struct pollfd p = { .fd = pipe };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

static enum flow move_out(struct socket_splice *c)
{
	enum flow flow = c->out < 0 ? FLOW_STOPPED
				    : move(c, c->socket, c->out, &c->out_bytes);

	if (flow == FLOW_BROKEN && c->sys == EPIPE && is_pipe_deaf(c->out)) {
		c->is_unheard = true;
		flow = FLOW_ENDED;
	}
	if (flow != FLOW_ENDED)
		return flow;
	own_close(&c->out);
	return FLOW_STOPPED;
}

static enum flow move_in(struct socket_splice *c)
{
	enum flow flow = c->in < 0 || c->is_in_dry
				 ? FLOW_STOPPED
				 : move(c, c->in, c->socket, &c->in_bytes);

	if (flow == FLOW_ENDED)
		c->is_in_dry = true;
	else if (flow != FLOW_STOPPED)
		return flow;
	if (c->in >= 0 && c->is_in_dry && c->is_in_whole) {
		/* fails if the peer has gone, which other calls report */
		(void)shutdown(c->socket, SHUT_WR);
		own_close(&c->in);
	}
	return FLOW_STOPPED;
}

/* Returns whether the socket has an error. Once nothing is read from the socket any
 * more, a reset by the peer shows only in SO_ERROR. */
static bool has_error(struct socket_splice *c)
{
	socklen_t len = sizeof(c->sys);

	if (c->out >= 0 || c->in < 0)
		return false;
	return getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &c->sys, &len) == 0 &&
	       c->sys != 0;
}

/* Ends a splice with an error. The bytes that are still in the pipe `in` are delivered
 * first: an answer may have been sent just before the other side reset the connection. */
static enum socket_splice_state broke(struct socket_splice *c)
{
	const int sys = c->sys;

	for (int i = 0; i < STEPS_AT_ONCE && move_in(c) == FLOW_MOVED; i++)
		; /* the number of steps is limited, so this ends */
	c->sys = sys;
	return SOCKET_SPLICE_BROKEN;
}

/* A direction that has stopped is not tried again before the next event. */
enum socket_splice_state socket_splice_run(struct socket_splice *c)
{
	enum flow out = FLOW_MOVED, in = FLOW_MOVED;

	for (int i = 0; c->socket >= 0 && i < STEPS_AT_ONCE; i++) {
		out = out == FLOW_MOVED ? move_out(c) : out;
		in = in == FLOW_MOVED && out != FLOW_BROKEN ? move_in(c) : in;
		if (out == FLOW_BROKEN || in == FLOW_BROKEN || has_error(c))
			return broke(c);
		if (out == FLOW_STOPPED && in == FLOW_STOPPED) {
			c->is_in_stuck = c->in >= 0 && has_left(c->in);
			return await_room(c);
		}
	}
	return c->socket >= 0 ? SOCKET_SPLICE_HAS_MORE : SOCKET_SPLICE_WAITS;
}

/* Returns whether the event tells of nothing but bytes to read.  Events of a socket say
 * that it has room, too, whether that is new or not. */
static bool is_only_bytes(const struct socket_splice *c, const struct epoll_event *event)
{
	const bool is_pipe = event->data.u64 & SOCKET_SPLICE_PIPE;

	return c->in >= 0 && c->out >= 0 && !c->is_in_dry && !c->is_in_stuck &&
	       !c->is_out_watched && (event->events & EPOLLIN) &&
	       !(event->events & ~(EPOLLIN | (is_pipe ? 0u : EPOLLOUT)));
}

/* A direction of which all bytes were moved needs no further splice(2) to find that out.
 * Bytes that come after the look at what is left, and the end, are events of their own. */
enum socket_splice_state socket_splice_take(struct socket_splice *c,
					    const struct epoll_event *event)
{
	const bool is_pipe = event->data.u64 & SOCKET_SPLICE_PIPE;

	if (!is_only_bytes(c, event))
		return socket_splice_run(c);
	const enum flow flow = is_pipe ? move_in(c) : move_out(c);
	if (flow == FLOW_BROKEN)
		return broke(c);
	if (flow == FLOW_MOVED && !has_left(is_pipe ? c->in : c->socket))
		return SOCKET_SPLICE_WAITS;
	return socket_splice_run(c);
}

bool socket_splice_is_over(const struct socket_splice *c)
{
	return c->in < 0 && c->out < 0;
}
