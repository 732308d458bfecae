#include "base/fd_pass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char space[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
	struct cmsghdr align;
};

/* Sends once more, with the soft RLIMIT_NOFILE raised to the hard limit: the kernel
 * compares the number of descriptors that a user has under way with the soft limit
 * of the sender (unix(7), ETOOMANYREFS). */
static ssize_t send_at_hard_limit(int socket, const struct msghdr *m)
{
	struct rlimit own, most;

	(void)getrlimit(RLIMIT_NOFILE, &own); /* getrlimit(2) cannot fail: the arguments
					       * are valid */
	most = (struct rlimit){ own.rlim_max, own.rlim_max };
	(void)setrlimit(RLIMIT_NOFILE, &most); /* setrlimit(2) cannot fail: the soft limit
						* may be raised up to the hard one */
	ssize_t n = sendmsg(socket, m, MSG_DONTWAIT | MSG_NOSIGNAL);
	int sys = errno;
	(void)setrlimit(RLIMIT_NOFILE, &own); /* restores the former limit, which cannot
					       * fail */
	errno = sys;
	return n;
}

ssize_t fd_pass_send(int socket, const void *bytes, size_t len, const int *fds,
		     size_t count)
{
	union control control = { .space = { 0 } };
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count > FD_PASS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (count) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(count * sizeof(*fds));
		control.align =
			(struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(*fds)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(*fds));
	}
	ssize_t n = sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 && errno == ETOOMANYREFS ? send_at_hard_limit(socket, &m) : n;
}

/* Returns the first descriptor of the message.  The alignment of the control buffer
 * makes room for two descriptors, although one is expected; a second one is
 * closed. */
static int take_first(const struct cmsghdr *c)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int first = -1, fd;

	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (i == 0)
			first = fd;
		else
			(void)close(fd);
	}
	return first;
}

ssize_t fd_pass_receive(int socket, void *bytes, size_t len, int *ret_fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .space = { 0 } };
	struct iovec part = { .iov_base = bytes, .iov_len = len };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.space,
			    .msg_controllen = sizeof(control.space) };
	ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	/* MSG_CTRUNC with no descriptor means that the kernel could install none: the
	 * buffer has room for two, so it was not too small. */
	*ret_fd = n >= 0 && (m.msg_flags & MSG_CTRUNC) ? FD_PASS_LOST : -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		*ret_fd = take_first(c);
	return n;
}
