#include "gateway/route/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/own.h"
#include "gateway/route/pods.h"

/* --- the child ------------------------------------------------------------------ */

/* A pod whose machine is gone closes no connection: the kernel asks after it. */
static void keep_alive(int fd)
{
	const int on = 1, idle = 60, every = 20, times = 3;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int connect_to(const struct pod *pod)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval limit = { .tv_sec = 1 };
	struct addrinfo *list;
	int fd = -1;

	if (getaddrinfo(pod->host, pod->port, &hints, &list) != 0)
		return -1;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
			own_close(&fd);
	}
	freeaddrinfo(list);
	if (fd < 0)
		return -1;
	keep_alive(fd);
	(void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK); /* cannot fail for a socket */
	return fd;
}

/* Needs: a child that is to end.  Does: connects, and tells the front. */
static void dial(const struct pod *pod, uint32_t ticket, int link)
{
	const struct connector_answer answer = { .ticket = ticket };

	(void)alarm(CONNECTOR_SECONDS);
	const int fd = connect_to(pod);
	(void)fd_pass_send(link, &answer, sizeof(answer), &fd, fd >= 0 ? 1 : 0);
	_exit(0);
}

/* --- the connector ----------------------------------------------------------------- */

static void refuse(int link, uint32_t ticket)
{
	const struct connector_answer answer = { .ticket = ticket };

	(void)fd_pass_send(link, &answer, sizeof(answer), NULL, 0);
}

/* Returns whether the front is still there. */
static bool take_ask(const struct pods *pods, int link, const sigset_t *before,
		     unsigned *children)
{
	struct connector_ask ask;
	const ssize_t n = recv(link, &ask, sizeof(ask), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n != sizeof(ask))
		return false;
	while (*children > 0 && waitpid(-1, NULL, WNOHANG) > 0)
		--*children;
	const pid_t pid = ask.pod < pods->count && *children < CONNECTOR_AT_ONCE ? fork()
										 : -1;
	if (pid == 0) {
		(void)sigprocmask(SIG_SETMASK, before, NULL);
		dial(&pods->items[ask.pod], ask.ticket, link);
	}
	if (pid < 0)
		refuse(link, ask.ticket);
	else
		++*children;
	return true;
}

int connector_run(const struct pods *pods, int link, struct err *e)
{
	unsigned children = 0;
	bool is_told = false;
	sigset_t set, before;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	(void)sigdelset(&before, SIGINT);
	(void)sigdelset(&before, SIGTERM);
	AUTO_CLOSE int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return err_sys(e, "signalfd");
	for (;;) {
		struct pollfd fds[] = { { .fd = link, .events = POLLIN },
					{ .fd = signals, .events = POLLIN } };
		struct signalfd_siginfo info;

		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			return err_sys(e, "poll");
		if (fds[0].revents && !take_ask(pods, link, &before, &children))
			return 0;
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (is_told)
			return 0;
		is_told = true;
		refuse(link, 0);
	}
}
