/* relay -- the least that carries the bytes of a connection to another port: one process,
 * or two with a pipe between them for each direction.
 *
 *	relay 1|2 PORT
 *
 * It prints the port of 127.0.0.1 that it listens at.  Each connection gets processes of
 * its own, which do nothing but wait and splice(2): what a published port costs above
 * this is the cost of hutch, and the rest is that of the hops. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP (1 << 20)

/* One direction of a process: bytes go from `from` into `to`. */
struct flow {
	int from, to;
	bool is_over;
};

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void pipe_of(int ends[2])
{
	if (pipe2(ends, O_NONBLOCK) < 0)
		err(1, "make a pipe");
	/* fails where the user's pipes are many, and then for hutch's pipes, too */
	(void)fcntl(ends[0], F_SETPIPE_SZ, STEP);
}

static void watch(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		err(1, "epoll_ctl");
}

static bool is_moved(struct flow *f)
{
	ssize_t n = f->is_over ? -1 : splice(f->from, NULL, f->to, NULL, STEP,
					     SPLICE_F_NONBLOCK);

	if (n == 0) {
		f->is_over = true;
		(void)shutdown(f->to, SHUT_WR); /* fails for a pipe */
		(void)close(f->from);
		(void)close(f->to);
	} else if (n < 0 && !f->is_over && errno != EAGAIN) {
		err(1, "splice");
	}
	return n > 0;
}

/* Waits for an event.  A pipe is watched for room only while there are bytes for which it
 * has none: each splice(2) out of a pipe wakes the process that watches its other end. */
static void await(const struct flow *f, bool is_pipe, int epoll)
{
	struct pollfd from = { .fd = is_pipe && !f->is_over ? f->from : -1,
			       .events = POLLIN };
	struct epoll_event room = { .events = EPOLLOUT | EPOLLET | EPOLLONESHOT };
	struct epoll_event events[8];

	if (is_pipe && poll(&from, 1, 0) == 1 &&
	    epoll_ctl(epoll, EPOLL_CTL_MOD, f->to, &room) < 0)
		err(1, "epoll_ctl");
	(void)epoll_wait(epoll, events, 8, -1);
}

/* Moves bytes of all flows until they have ended. */
static void carry(struct flow *flows, size_t count, int epoll)
{
	for (size_t over = 0; over < count;) {
		bool is_any;
		do {
			is_any = false;
			over = 0;
			for (size_t i = 0; i < count; i++) {
				is_any = is_moved(&flows[i]) || is_any;
				over += flows[i].is_over;
			}
		} while (is_any);
		if (over < count)
			await(&flows[0], count == 2, epoll);
	}
}

/* A process that has a socket on one side and pipes on the other. */
static void be_half(int socket, int in, int out)
{
	/* Each flow closes its own descriptors. */
	struct flow flows[] = { { dup(socket), out, false }, { in, socket, false } };
	const int epoll = epoll_create1(0);

	watch(epoll, socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	watch(epoll, in, EPOLLIN);
	watch(epoll, out, 0);
	carry(flows, 2, epoll);
	_exit(0);
}

static void be_whole(int a, int b)
{
	int there[2], back[2];

	pipe_of(there);
	pipe_of(back);
	struct flow flows[] = { { dup(a), there[1], false },
				{ there[0], b, false },
				{ dup(b), back[1], false },
				{ back[0], a, false } };
	const int epoll = epoll_create1(0);
	watch(epoll, a, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	watch(epoll, b, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	carry(flows, 4, epoll);
	_exit(0);
}

static void be_two(int a, int b)
{
	int there[2], back[2];

	pipe_of(there);
	pipe_of(back);
	if (fork() == 0) {
		(void)close(a);
		(void)close(there[1]);
		(void)close(back[0]);
		be_half(b, there[0], back[1]);
	}
	(void)close(b);
	(void)close(there[0]);
	(void)close(back[1]);
	be_half(a, back[0], there[1]);
}

static void serve(int a, int hops, int port)
{
	const struct sockaddr_in to = loopback(port);
	const int b = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (connect(b, (const struct sockaddr *)&to, sizeof(to)) < 0)
		err(1, "connect to port %d", port);
	(void)setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)fcntl(a, F_SETFL, O_NONBLOCK);
	(void)fcntl(b, F_SETFL, O_NONBLOCK);
	if (hops == 1)
		be_whole(a, b);
	be_two(a, b);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = loopback(0);
	socklen_t len = sizeof(at);
	const int hops = argc == 3 ? atoi(argv[1]) : 0;
	const int door = socket(AF_INET, SOCK_STREAM, 0);

	if (hops != 1 && hops != 2)
		errx(2, "usage: relay 1|2 PORT");
	if (bind(door, (struct sockaddr *)&at, len) < 0 || listen(door, SOMAXCONN) < 0 ||
	    getsockname(door, (struct sockaddr *)&at, &len) < 0)
		err(1, "listen");
	(void)signal(SIGCHLD, SIG_IGN);
	printf("%d\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	for (;;) {
		const int one = accept(door, NULL, NULL);
		if (one >= 0 && fork() == 0) {
			(void)close(door);
			serve(one, hops, atoi(argv[2]));
		}
		(void)close(one);
	}
}
