#include "egress/gate/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"

#define PIECE (64u << 10) /* what a pipe holds by default (pipe(7)) */

void stream_pool_done(struct stream_pool *p)
{
	for (size_t i = 0; i < p->count; i++) {
		own_close(&p->pipes[i][0]);
		own_close(&p->pipes[i][1]);
	}
	p->count = 0;
}

static int take_pipe(struct stream *s, struct stream_pool *pool)
{
	if (s->pipe[0] >= 0)
		return 0;
	if (!pool->count)
		return pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK);
	pool->count--;
	s->pipe[0] = pool->pipes[pool->count][0];
	s->pipe[1] = pool->pipes[pool->count][1];
	return 0;
}

static void give_pipe_back(struct stream *s, struct stream_pool *pool)
{
	if (s->held || s->pipe[0] < 0)
		return;
	if (pool->count == STREAM_POOL) {
		stream_done(s);
		return;
	}
	pool->pipes[pool->count][0] = fd_take(&s->pipe[0]);
	pool->pipes[pool->count++][1] = fd_take(&s->pipe[1]);
}

void stream_init(struct stream *s)
{
	*s = (struct stream){ .pipe = { -1, -1 }, .limit = UINT64_MAX };
}

void stream_done(struct stream *s)
{
	own_close(&s->pipe[0]);
	own_close(&s->pipe[1]);
}

/* Fills the pipe.  Returns false if a socket broke. */
static bool fill(struct stream *s, int from)
{
	const uint64_t left = s->limit - s->bytes;

	if (s->has_ended || s->held || !left)
		return true;
	ssize_t n = splice(from, NULL, s->pipe[1], NULL, left < PIECE ? left : PIECE,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	s->held += (size_t)n;
	s->has_ended = n == 0;
	return true;
}

static bool empty(struct stream *s, int to)
{
	if (!s->held)
		return true;
	ssize_t n = splice(s->pipe[0], NULL, to, NULL, s->held,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	s->held -= (size_t)n;
	s->bytes += (uint64_t)n;
	return true;
}

static enum stream_news move_all(struct stream *s, int from, int to)
{
	for (const uint64_t begun = s->bytes; s->bytes - begun < STREAM_TURN;) {
		const uint64_t before = s->bytes;
		if (!fill(s, from) || !empty(s, to))
			return STREAM_BROKE;
		if (s->has_ended && !s->held)
			break;
		if (s->bytes == before)
			return STREAM_WAITS;
	}
	if (!s->has_ended || s->held)
		return STREAM_MORE;
	/* fails if `to` was reset meanwhile, which its next event tells */
	if (!s->is_shut)
		(void)shutdown(to, SHUT_WR);
	s->is_shut = true;
	return STREAM_DONE;
}

enum stream_news stream_move(struct stream *s, struct stream_pool *pool, int from, int to)
{
	if (s->is_shut)
		return STREAM_DONE;
	if (take_pipe(s, pool) < 0)
		return STREAM_BROKE;
	enum stream_news news = move_all(s, from, to);
	give_pipe_back(s, pool);
	return news;
}
