#include "sandbox/control/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"

void wire_init(struct wire *w, int fd, size_t line_max, size_t out_max)
{
	*w = (struct wire){ .fd = fd };
	lines_init(&w->lines, line_max);
	buffer_init(&w->out, out_max);
}

void wire_fds_done(struct wire_fds *f)
{
	for (unsigned i = 0; i < f->count; i++)
		own_close(&f->fds[i]);
	*f = (struct wire_fds){ 0 };
}

void wire_done(struct wire *w)
{
	for (unsigned i = 0; i < w->passed_count; i++)
		wire_fds_done(&w->passed[i].fds);
	lines_done(&w->lines);
	buffer_done(&w->out);
	own_close(&w->fd);
}

bool wire_may_read(const struct wire *w)
{
	return w->passed_count < WIRE_PASSED && !w->lines.is_at_eof;
}

/* The room for WIRE_FDS holds more, by its alignment. */
static void add_fd(struct wire_fds *f, const unsigned char *at)
{
	int fd;

	memcpy(&fd, at, sizeof(fd));
	if (f->count < WIRE_FDS) {
		f->fds[f->count++] = fd;
	} else {
		own_close(&fd);
		f->is_wrong = true;
	}
}

/* The kernel keeps bytes that came with descriptors apart from those before. */
static void keep_fds(struct wire *w, struct msghdr *m)
{
	struct wire_fds got = { .is_wrong = m->msg_flags & MSG_CTRUNC };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++)
			add_fd(&got, CMSG_DATA(c) + i * sizeof(int));
	}
	if (!got.count && !got.is_wrong)
		return;
	w->passed[w->passed_count].at = w->taken + buffer_len(&w->lines.in);
	w->passed[w->passed_count++].fds = got;
}

bool wire_read(struct wire *w)
{
	union {
		char space[CMSG_SPACE(WIRE_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec bytes = { lines_room(&w->lines), LINES_AT_ONCE };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space,
			    .msg_controllen = sizeof(control.space) };
	ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n > 0)
		keep_fds(w, &m);
	lines_added(&w->lines, (size_t)n);
	return true;
}

bool wire_write(struct wire *w)
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

/* Those that came before byte `end`; right only at the first one. */
static void take_fds(struct wire *w, uint64_t end, struct wire_fds *ret)
{
	*ret = (struct wire_fds){ 0 };
	while (w->passed_count > 0 && w->passed[0].at < end) {
		struct wire_fds *f = &w->passed[0].fds;
		bool is_wrong = f->is_wrong || ret->count || w->passed[0].at != w->taken;
		wire_fds_done(ret);
		if (is_wrong)
			wire_fds_done(f);
		*ret = *f;
		ret->is_wrong = is_wrong;
		memmove(&w->passed[0], &w->passed[1],
			--w->passed_count * sizeof(w->passed[0]));
	}
}

enum line_kind wire_next(struct wire *w, const char **ret, size_t *ret_len,
			 struct wire_fds *fds)
{
	size_t before = buffer_len(&w->lines.in);
	enum line_kind kind = lines_next(&w->lines, ret, ret_len);

	*fds = (struct wire_fds){ 0 };
	/* What is dropped as it comes takes its descriptors with it. */
	w->taken += before - buffer_len(&w->lines.in);
	if (kind != LINE_NONE)
		take_fds(w, w->taken + *ret_len + 1, fds);
	return kind;
}

void wire_took(struct wire *w)
{
	size_t before = buffer_len(&w->lines.in);

	lines_took(&w->lines);
	w->taken += before - buffer_len(&w->lines.in);
}
