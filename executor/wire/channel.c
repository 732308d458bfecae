#include "executor/wire/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"

/* A larger buffer is freed once it is empty, so that one huge request does not occupy
 * memory for the rest of the sandbox's life. */
#define KEEP_ROOM (64u << 10)

/* At most this much of a body is read at once: memory is allocated for bytes that have
 * arrived, not for the length that a header claims. */
#define READ_AT_ONCE (256u << 10)

void channel_init(struct channel *c, int fd)
{
	*c = (struct channel){ .fd = fd };
	buffer_init(&c->in, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	buffer_init(&c->out, CHANNEL_OUT_MAX);
}

static void close_fds(struct channel *c)
{
	while (c->fd_count > 0)
		own_close(&c->fds[--c->fd_count]);
}

void channel_done(struct channel *c)
{
	if (!c)
		return;
	close_fds(c);
	own_close(&c->fd);
	buffer_done(&c->in);
	buffer_done(&c->out);
}

/* Judges the result of recv(2).  Returns 1 with *ret_len set; 0: there is no data now; -1
 * with *e set. */
static int received(ssize_t n, size_t *ret_len, struct err *e)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_sys(e, "read a request");
	if (n == 0)
		return err_set(e, ERR_SYSTEM, "the supervisor closed the channel");
	*ret_len = (size_t)n;
	return 1;
}

/* Keeps the descriptors that came with a header.  One recvmsg(2) brings three at most,
 * but a header may come in several parts, each with descriptors, so the sum is checked
 * here. */
static int keep_fds(struct channel *c, struct msghdr *msg, struct err *e)
{
	bool is_whole = !(msg->msg_flags & MSG_CTRUNC);
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	size_t count = 0;
	int fds[CHANNEL_FDS];

	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
		count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	else if (cmsg)
		is_whole = false;
	if (count > 0)
		memcpy(fds, CMSG_DATA(cmsg), count * sizeof(int));
	for (size_t i = 0; i < count; i++) {
		if (c->fd_count < CHANNEL_FDS) {
			c->fds[c->fd_count++] = fds[i];
			continue;
		}
		own_close(&fds[i]);
		is_whole = false;
	}
	return is_whole ? 0 : err_set(e, ERR_PROTOCOL, "too many descriptors");
}

static int read_header(struct channel *c, size_t want, struct err *e)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(CHANNEL_FDS * sizeof(int))];
	} control;
	struct iovec iov = { buffer_reserve(&c->in, want), want };
	/* CMSG_LEN has room for three descriptors; CMSG_SPACE adds padding, in which a
	 * fourth would fit. */
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_LEN(CHANNEL_FDS * sizeof(int)) };
	size_t len = 0;

	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int got = received(n, &len, e);
	if (got <= 0)
		return got;
	buffer_added(&c->in, len);
	return keep_fds(c, &msg, e) < 0 ? -1 : 1;
}

/* Reads a part of a body.  recvmsg(2) gets no room for descriptors: the kernel drops them
 * and sets MSG_CTRUNC, which is a violation of the protocol. */
static int read_body(struct channel *c, size_t want, struct err *e)
{
	size_t room = want < READ_AT_ONCE ? want : READ_AT_ONCE, len = 0;
	struct iovec iov = { buffer_reserve(&c->in, room), room };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	int got = received(recvmsg(c->fd, &msg, MSG_DONTWAIT), &len, e);
	if (got <= 0)
		return got;
	buffer_added(&c->in, len);
	if (msg.msg_flags & MSG_CTRUNC)
		return err_set(e, ERR_PROTOCOL, "descriptors inside a request");
	return 1;
}

/* Returns how many bytes of the body that the header announces are still to come. */
static size_t body_missing(const struct channel *c)
{
	const uint8_t *at = buffer_data(&c->in);
	size_t len = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 |
		     (size_t)at[3] << 24;

	return FRAME_HEADER + len - buffer_len(&c->in);
}

int channel_receive(struct channel *c, struct frame *ret, struct err *e)
{
	for (;;) {
		int whole = frame_next(&c->in, FRAME_MAX_TO_EXECUTOR, ret, e);
		if (whole)
			return whole;
		size_t have = buffer_len(&c->in);
		int got = have < FRAME_HEADER ? read_header(c, FRAME_HEADER - have, e)
					      : read_body(c, body_missing(c), e);
		if (got <= 0)
			return got;
	}
}

static int take(struct channel *c, int *ret_fds, size_t count, struct err *e)
{
	if (c->fd_count != count)
		return err_set(e, ERR_PROTOCOL, "%zu descriptors instead of %zu",
			       c->fd_count, count);
	for (size_t i = 0; i < count; i++)
		ret_fds[i] = fd_take(&c->fds[i]);
	c->fd_count = 0;
	return 0;
}

int channel_take_fds(struct channel *c, int ret_fds[CHANNEL_FDS], struct err *e)
{
	return take(c, ret_fds, CHANNEL_FDS, e);
}

int channel_take_pair(struct channel *c, int ret_fds[2], struct err *e)
{
	return take(c, ret_fds, 2, e);
}

int channel_take_fd(struct channel *c, int *ret_fd, struct err *e)
{
	return take(c, ret_fd, 1, e);
}

int channel_received(struct channel *c, const struct frame *f, struct err *e)
{
	if (c->fd_count > 0)
		return err_set(e, ERR_PROTOCOL, "descriptors beside the wrong request");
	buffer_consume(&c->in, FRAME_HEADER + f->len);
	if (c->in.room > KEEP_ROOM) {
		buffer_done(&c->in);
		buffer_init(&c->in, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	}
	return 0;
}

int channel_flush(struct channel *c, struct err *e)
{
	while (channel_has_output(c)) {
		ssize_t n = send(c->fd, buffer_data(&c->out), buffer_len(&c->out),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return err_sys(e, "send an answer");
		buffer_consume(&c->out, (size_t)n);
	}
	if (c->out.room > KEEP_ROOM) {
		buffer_done(&c->out);
		buffer_init(&c->out, CHANNEL_OUT_MAX);
	}
	return 0;
}

bool channel_is_full(const struct channel *c)
{
	return buffer_len(&c->out) >= CHANNEL_OUT_HIGH;
}

bool channel_has_output(const struct channel *c)
{
	return buffer_len(&c->out) > 0;
}
