#include "oci/link.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/await.h"
#include "base/fd_pass.h"
#include "base/own.h"

int link_send(int link, enum link_kind kind, int value, int fd, struct err *e)
{
	const struct link_message m = { .kind = kind, .value = value };

	return fd_pass_send(link, &m, sizeof(m), &fd, fd >= 0) == sizeof(m)
		       ? 0
		       : err_sys(e, "send to the other process of the container");
}

void link_send_error(int link, const struct err *e)
{
	const struct link_message m = { .kind = LINK_ERROR, .err = *e };

	(void)fd_pass_send(link, &m, sizeof(m), NULL, 0); /* the header says why */
}

int link_receive(int link, struct link_message *ret, int *ret_fd, struct err *e)
{
	int fd = -1;

	if (await_ready(link, POLLIN, 0) < 0)
		return err_sys(e, "wait for the container's process");
	const ssize_t n = fd_pass_receive(link, ret, sizeof(*ret), &fd);
	if (ret_fd)
		*ret_fd = fd;
	else
		own_close(&fd);
	if (n == 0 || (n < 0 && errno == ECONNRESET)) {
		*ret = (struct link_message){ .kind = LINK_NONE };
		return 0;
	}
	if (n != sizeof(*ret))
		return err_set(e, ERR_PROTOCOL, "the container's process sent %zd bytes",
			       n);
	if (ret->kind != LINK_ERROR)
		return 0;
	err_sanitize(&ret->err);
	if (e)
		*e = ret->err;
	return -1;
}

int link_check(const struct link_message *m, enum link_kind kind, struct err *e)
{
	if (m->kind == kind)
		return 0;
	return m->kind == LINK_NONE ? err_set(e, ERR_GONE,
					      "the container's process ended during its "
					      "set-up")
				    : err_set(e, ERR_PROTOCOL,
					      "the container's process sent message %d "
					      "in place of %d",
					      (int)m->kind, (int)kind);
}

int link_expect(int link, enum link_kind kind, struct link_message *ret, struct err *e)
{
	return link_receive(link, ret, NULL, e) || link_check(ret, kind, e) ? -1 : 0;
}
