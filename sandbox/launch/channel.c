#include "sandbox/launch/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "protocol/message.h"

/* The most received bytes that are kept: one frame of the largest size, and the part of
 * the next frame that was read with it. */
#define IN_MAX	(2 * (FRAME_MAX_FROM_EXECUTOR + FRAME_HEADER))
#define OUT_MAX (FRAME_MAX_TO_EXECUTOR + FRAME_HEADER)
#define OUT_KEPT (256u << 10) /* the largest send buffer that is not freed when the queue
			       * is empty */
#define CHUNK	8192 /* bytes read at once: room for a page of a file and the frame
		      * around it */

void channel_init(struct channel *c, int fd)
{
	*c = (struct channel){ .fd = fd };
	buffer_init(&c->in, IN_MAX);
	buffer_init(&c->out, OUT_MAX);
}

void channel_done(struct channel *c)
{
	if (!c)
		return;
	buffer_done(&c->in);
	buffer_done(&c->out);
}

short channel_events(const struct channel *c)
{
	return (short)(POLLIN | (buffer_len(&c->out) && !c->is_held ? POLLOUT : 0));
}

/* Sends queued bytes, with the descriptors in `passing`.  The kernel attaches
 * descriptors to the first byte of a send, so nothing may be queued before the request
 * that they belong to. */
static ssize_t send_some(struct channel *c)
{
	return fd_pass_send(c->fd, c->out.bytes + c->out.start, buffer_len(&c->out),
			    c->passing, c->passing_count);
}

static int send_all(struct channel *c, struct err *e)
{
	while (buffer_len(&c->out) > 0) {
		ssize_t n = send_some(c);
		if (n < 0 && errno == EINTR)
			continue;
		/* If the channel is closed, the queue is dropped without an error: the
		 * end of the sandbox, which follows, has an error of its own. */
		if (n < 0 && (errno == EAGAIN || errno == EPIPE || errno == ECONNRESET)) {
			if (errno != EAGAIN)
				buffer_consume(&c->out, buffer_len(&c->out));
			return 0;
		}
		if (n < 0)
			return err_sys(e, "send to the executor");
		c->passing_count = 0;
		buffer_consume(&c->out, (size_t)n);
	}
	/* frees a large buffer, since supervisors live long and a host runs many of
	 * them */
	if (c->out.room > OUT_KEPT) {
		buffer_done(&c->out);
		buffer_init(&c->out, OUT_MAX);
	}
	return 0;
}

int channel_flush(struct channel *c, struct err *e)
{
	return c->is_held ? 0 : send_all(c, e);
}

bool channel_has_passed(const struct channel *c)
{
	return c->passing_count == 0;
}

bool channel_is_free(const struct channel *c)
{
	return channel_has_passed(c) && buffer_len(&c->out) == 0;
}

/* Sends the queued request, with its descriptors. */
static int pass(struct channel *c, const int *fds, unsigned count, struct err *e)
{
	memcpy(c->passing, fds, count * sizeof(*fds));
	c->passing_count = count;
	if (channel_flush(c, e) == 0)
		return 0;
	/* ETOOMANYREFS: too many descriptors of this user are in flight (unix(7)).  No
	 * byte of the request was sent, so the request is dropped. */
	if (e->sys == ETOOMANYREFS && c->passing_count) {
		buffer_consume(&c->out, buffer_len(&c->out));
		c->passing_count = 0;
	}
	return -1;
}

int channel_send_exec(struct channel *c, uint32_t id, const struct exec *x,
		      const int fds[3], struct err *e)
{
	if (message_put_exec(&c->out, id, x, e) < 0)
		return err_in(e, "the command's arguments and environment");
	return pass(c, fds, 3, e);
}

int channel_send_dial(struct channel *c, uint32_t id, uint16_t port, const int fds[2],
		      struct err *e)
{
	return message_put_dial(&c->out, id, port, e) < 0 ? -1 : pass(c, fds, 2, e);
}

int channel_send_word(struct channel *c, enum message_type word, uint32_t id,
		      struct err *e)
{
	return message_put_word(&c->out, word, id, e) < 0 ? -1 : channel_flush(c, e);
}

int channel_send_cgroup(struct channel *c, int procs, struct err *e)
{
	if (message_put_cgroup(&c->out, e) < 0)
		return -1;
	c->passing[0] = procs;
	c->passing_count = 1;
	if (send_all(c, e) < 0)
		return -1;
	/* These few bytes always fit a socket to which nothing was written before, so
	 * the descriptor has been sent. */
	return channel_has_passed(c) || !buffer_len(&c->out)
		       ? 0
		       : err_set(e, ERR_INTERNAL,
				 "the executor's channel is full at its start");
}

int channel_send_signal(struct channel *c, uint32_t id, uint32_t signo, struct err *e)
{
	if (message_put_signal(&c->out, id, signo, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_send_end(struct channel *c, uint32_t id, struct err *e)
{
	if (message_put_end(&c->out, id, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_send_hold(struct channel *c, bool is_held, struct err *e)
{
	if (message_put_hold(&c->out, is_held, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_send_freeze(struct channel *c, uint32_t number, struct err *e)
{
	if (message_put_freeze(&c->out, number, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_send_resize(struct channel *c, uint32_t id, uint32_t rows, uint32_t cols,
			struct err *e)
{
	if (message_put_resize(&c->out, id, rows, cols, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_send_stop(struct channel *c, uint32_t grace_ms, struct err *e)
{
	if (message_put_stop(&c->out, grace_ms, e) < 0)
		return -1;
	return channel_flush(c, e);
}

int channel_fill(struct channel *c, struct err *e)
{
	uint8_t *to = buffer_reserve(&c->in, CHUNK);

	if (!to)
		return err_set(e, ERR_PROTOCOL, "it sent more than it was asked for");
	ssize_t n = recv(c->fd, to, CHUNK, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return CHANNEL_CLOSED;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CHANNEL_DRY;
	if (n < 0)
		return err_sys(e, "read from the executor");
	buffer_added(&c->in, (size_t)n);
	return CHANNEL_READ;
}

int channel_next(struct channel *c, struct frame *ret, struct err *e)
{
	return frame_next(&c->in, FRAME_MAX_FROM_EXECUTOR, ret, e);
}

void channel_took(struct channel *c, const struct frame *f)
{
	buffer_consume(&c->in, FRAME_HEADER + f->len);
}
