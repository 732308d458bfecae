/* Passing descriptors over unix sockets, for the probe and for the listener. */
#include "tests/escape/probe.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int send_fds(int sock, const int *fds, unsigned count, int flags)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	union {
		char buf[CMSG_SPACE(sizeof(int) * SEND_MOST)];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = CMSG_SPACE(sizeof(int) * count),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(head), fds, sizeof(int) * count);
	return sendmsg(sock, &msg, flags) == 1 ? 0 : -1;
}

int socket_send_fds(int sock, const int *fds, unsigned count)
{
	return send_fds(sock, fds, count, MSG_DONTWAIT);
}

int socket_wait_send_fds(int sock, const int *fds, unsigned count)
{
	return send_fds(sock, fds, count, 0);
}

int socket_send_fd(int sock, int fd)
{
	return socket_send_fds(sock, &fd, 1);
}

int socket_take_fd(int sock)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 1)
		return -1;
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(head), sizeof(int));
	return fd;
}
