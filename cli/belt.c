#include "cli/belt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/own.h"

#define PIPE_BYTES (512 << 10)
/* how often belt_serve() calls splice(2) at most before the caller's loop goes on */
#define TURNS 16

void belt_init(struct belt *b)
{
	*b = (struct belt){ .in = -1, .out = -1 };
}

void belt_begin(struct belt *b, int in, int out, int64_t now)
{
	*b = (struct belt){ .in = in, .out = out, .moved_ms = now };
	(void)fcntl(in, F_SETFL, O_NONBLOCK); /* F_SETFL cannot fail: both arguments are
					       * valid */
	(void)fcntl(out, F_SETFL, O_NONBLOCK);
	/* A larger pipe needs fewer calls of splice(2).  F_SETPIPE_SZ fails if the
	 * user's share of pipe memory is used up. */
	(void)fcntl(in, F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(out, F_SETPIPE_SZ, PIPE_BYTES);
}

bool belt_has_ended(const struct belt *b)
{
	return b->in < 0;
}

void belt_done(struct belt *b)
{
	own_close(&b->in);
	own_close(&b->out);
}

/* While the belt waits for the reader, the writer's end is not polled: a pipe
 * that its writer has closed is always readable.  The reader's end reports its
 * own closing in any case. */
void belt_watch(const struct belt *b, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = b->is_full ? -1 : b->in, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = b->out, .events = b->is_full ? POLLOUT : 0 };
}

static bool has_bytes(int fd)
{
	int count = 0;

	return ioctl(fd, FIONREAD, &count) == 0 && count > 0;
}

/* Moves bytes once with splice(2).  Returns false when no more bytes can be moved now. */
static bool hand_on(struct belt *b, int64_t now)
{
	ssize_t n = splice(b->in, NULL, b->out, NULL, PIPE_BYTES, SPLICE_F_NONBLOCK);

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN) {
		b->is_full = has_bytes(b->in);
		return false;
	}
	b->moved_ms = now;
	b->moved += n > 0 ? (uint64_t)n : 0;
	b->is_full = false;
	if (n <= 0) /* 0: the writer has closed its end; EPIPE: the reader has closed
		     * its end */
		belt_done(b);
	return n > 0;
}

void belt_serve(struct belt *b, const struct pollfd *fds, int64_t now)
{
	if (b->out >= 0 && fds[1].revents & POLLERR) {
		b->moved_ms = now;
		belt_done(b);
	}
	if (b->in < 0 || !(fds[0].revents || fds[1].revents))
		return;
	for (int i = 0; i < TURNS && hand_on(b, now); i++) {
		/* belt_serve() loops until hand_on() finds no more bytes */
	}
	/* With no room in `out`, splice(2) does not tell the end of an empty pipe, which
	 * poll(2) would then report again and again. */
	if (b->in >= 0 && fds[0].revents & POLLHUP && !has_bytes(b->in)) {
		b->moved_ms = now;
		belt_done(b);
	}
}
