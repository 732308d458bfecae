#include "supervisor/connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"

/* The most bytes that the first reads of a connection take.  Most requests are shorter,
 * and malloc(3) has so much left from the connection before; LINES_AT_ONCE bytes it would
 * map and unmap for each connection.  Once a read has got all these bytes, the next ones
 * take LINES_AT_ONCE. */
#define FIRST_READ 4096u

void connection_init(struct connection *w, int fd, size_t line_max, size_t out_max)
{
	*w = (struct connection){ .fd = fd, .at_once = FIRST_READ };
	lines_init(&w->lines, line_max);
	buffer_init(&w->out, out_max);
}

void connection_fds_done(struct connection_fds *f)
{
	for (unsigned i = 0; i < f->count; i++)
		own_close(&f->fds[i]);
	*f = (struct connection_fds){ 0 };
}

void connection_done(struct connection *w)
{
	for (unsigned i = 0; i < w->passed_count; i++)
		connection_fds_done(&w->passed[i].fds);
	lines_done(&w->lines);
	buffer_done(&w->out);
	own_close(&w->fd);
}

bool connection_may_read(const struct connection *w)
{
	return w->passed_count < CONNECTION_PASSED && !w->lines.is_at_eof;
}

/* Adds a descriptor that was received.  There may be more than CONNECTION_FDS, since
 * alignment makes the control buffer larger than asked for. */
static void add_fd(struct connection_fds *f, const unsigned char *at)
{
	int fd;

	memcpy(&fd, at, sizeof(fd));
	if (f->count < CONNECTION_FDS) {
		f->fds[f->count++] = fd;
	} else {
		own_close(&fd);
		f->is_wrong = true;
	}
}

/* Collects the descriptors that came with a read.  They are in a single control
 * message: no socket option is set that would add others. */
static void get_fds(struct msghdr *m, struct connection_fds *ret)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);

	*ret = (struct connection_fds){ .is_wrong = m->msg_flags & MSG_CTRUNC };
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < count; i++)
		add_fd(ret, CMSG_DATA(c) + i * sizeof(int));
}

static uint64_t received(const struct connection *w)
{
	return w->taken + buffer_len(&w->lines.in);
}

/* Keeps descriptors that came with the next byte.  Each line has only one slot for
 * descriptors, so an unfinished line cannot use up all slots. */
static void keep_fds(struct connection *w, struct msghdr *m)
{
	unsigned last = w->passed_count;
	struct connection_fds got;

	get_fds(m, &got);
	if (!got.count && !got.is_wrong)
		return;
	if (last > 0 && w->passed[last - 1].line == w->begun)
		connection_fds_done(&w->passed[--last].fds);
	if (got.is_wrong || received(w) != w->begun) {
		connection_fds_done(&got);
		got.is_wrong = true;
	}
	w->passed[last].line = w->begun;
	w->passed[last].fds = got;
	w->passed_count = last + 1;
}

/* Returns how many of the waiting bytes to read at once.  A look at them with MSG_PEEK
 * and no control buffer sets MSG_CTRUNC if one of them came with descriptors.  In that
 * case the first byte of a line is read alone, and the others up to the end of the
 * line. */
static size_t look_ahead(const struct connection *w, struct iovec bytes,
			 bool *ret_is_alone)
{
	const uint8_t *room = bytes.iov_base;
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT | MSG_PEEK);
	const uint8_t *end;

	if (n <= 0)
		return 1; /* no bytes, or the end of the stream; later bytes are for the
			   * next call */
	if (!(m.msg_flags & MSG_CTRUNC))
		return (size_t)n;
	*ret_is_alone = received(w) == w->begun;
	if (*ret_is_alone)
		return 1;
	end = memchr(room, '\n', (size_t)n);
	return end ? (size_t)(end - room) + 1 : (size_t)n;
}

static void add_bytes(struct connection *w, const uint8_t *bytes, size_t len)
{
	const uint8_t *end = len ? memrchr(bytes, '\n', len) : NULL;

	if (end)
		w->begun = received(w) + (size_t)(end - bytes) + 1;
	lines_added(&w->lines, len);
}

/* Reads from the connection once, `max` bytes at most.  *ret_is_alone: the first byte of
 * a line was read alone, and more bytes wait. */
static bool read_once(struct connection *w, size_t max, bool *ret_is_alone)
{
	union {
		char space[CMSG_SPACE(CONNECTION_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	uint8_t *room = lines_room(&w->lines, max);
	if (!room)
		return false; /* the client has closed the connection, and the last line
			       * was not handled yet */
	struct iovec bytes = { room, max };
	bytes.iov_len = look_ahead(w, bytes, ret_is_alone);
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control.space,
			    .msg_controllen = sizeof(control.space) };
	ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n > 0)
		keep_fds(w, &m);
	if ((size_t)n == max)
		w->at_once = LINES_AT_ONCE;
	add_bytes(w, room, (size_t)n);
	return true;
}

/* The second read has one byte less, which is what the first one has left of the room. */
bool connection_read(struct connection *w)
{
	const size_t max = w->at_once;
	bool is_alone = false;

	return read_once(w, max, &is_alone) &&
	       (!is_alone || read_once(w, max - 1, &is_alone));
}

bool connection_write(struct connection *w)
{
	while (buffer_len(&w->out) > 0) {
		ssize_t n = send(w->fd, buffer_data(&w->out), buffer_len(&w->out),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		buffer_consume(&w->out, (size_t)n);
	}
	return true;
}

bool connection_is_deserted(const struct connection *w)
{
	struct pollfd p = { .fd = w->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

/* Gives the descriptors of the line that ends before byte `end`. */
static void take_fds(struct connection *w, uint64_t end, struct connection_fds *ret)
{
	*ret = (struct connection_fds){ 0 };
	if (w->passed_count == 0 || w->passed[0].line >= end)
		return;
	*ret = w->passed[0].fds;
	memmove(&w->passed[0], &w->passed[1], --w->passed_count * sizeof(w->passed[0]));
}

enum line_kind connection_next(struct connection *w, const char **ret, size_t *ret_len,
			 struct connection_fds *fds)
{
	size_t before = buffer_len(&w->lines.in);
	enum line_kind kind = lines_next(&w->lines, ret, ret_len);

	*fds = (struct connection_fds){ 0 };
	w->taken += before - buffer_len(&w->lines.in);
	if (kind != LINE_NONE)
		take_fds(w, w->taken + *ret_len + 1, fds);
	return kind;
}

void connection_took(struct connection *w)
{
	size_t before = buffer_len(&w->lines.in);

	lines_took(&w->lines);
	w->taken += before - buffer_len(&w->lines.in);
}
