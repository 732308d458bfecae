#include "egress/gate_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/frame.h"
#include "base/own.h"
#include "egress/frames.h"

#define READ_STEP (16u << 10) /* bytes of one read */
#define CHUNK	  (4u << 10)  /* frames that are sent together */

/* Frames that are sent together; the first may have a descriptor. */
struct gate_frame {
	struct gate_frame *next; /* owned */
	int fd;			 /* owned; -1: none */
	size_t at, len, room;	 /* sent bytes, all bytes, bytes for more frames */
	uint8_t bytes[];
};

void gate_link_init(struct gate_link *g, int socket)
{
	*g = (struct gate_link){ .socket = socket };
	buffer_init(&g->in, GATE_LINK_READ_MAX);
}

static void drop_first(struct gate_link *g)
{
	struct gate_frame *f = g->first;

	g->first = f->next;
	if (!g->first)
		g->last = NULL;
	g->queued -= f->len;
	own_close(&f->fd);
	free(f);
}

void gate_link_done(struct gate_link *g)
{
	while (g->first)
		drop_first(g);
	buffer_done(&g->in);
}

static struct gate_frame *add_chunk(struct gate_link *g, size_t room)
{
	struct gate_frame *f = malloc(sizeof(*f) + room);

	if (!f)
		abort();
	*f = (struct gate_frame){ .fd = -1, .room = room };
	if (g->last)
		g->last->next = f;
	else
		g->first = f;
	g->last = f;
	return f;
}

bool gate_link_queue(struct gate_link *g, struct buffer *frame, int fd)
{
	const size_t len = buffer_len(frame);
	struct gate_frame *f = g->last;
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (fd >= 0 && copy < 0) {
		buffer_consume(frame, len);
		return false;
	}
	/* A descriptor goes with the first byte of a chunk. */
	if (copy >= 0)
		f = add_chunk(g, len);
	else if (!f || f->fd >= 0 || f->room - f->len < len)
		f = add_chunk(g, len > CHUNK ? len : CHUNK);
	f->fd = copy;
	memcpy(f->bytes + f->len, buffer_data(frame), len);
	f->len += len;
	g->queued += len;
	buffer_consume(frame, len);
	return true;
}

int gate_link_send(struct gate_link *g)
{
	g->is_crowded = false;
	while (g->first) {
		struct gate_frame *f = g->first;
		ssize_t n = fd_pass_send(g->socket, f->bytes + f->at, f->len - f->at,
					 &f->fd, f->fd >= 0);
		if (n < 0 && errno == ETOOMANYREFS) {
			g->is_crowded = true;
			return 0;
		}
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		own_close(&f->fd); /* it goes with the first byte */
		f->at += (size_t)n;
		if (f->at < f->len)
			return 0;
		drop_first(g);
	}
	return 0;
}

bool gate_link_is_full(const struct gate_link *g)
{
	return g->first && !g->is_crowded;
}

bool gate_link_may_read(const struct gate_link *g)
{
	return g->queued <= GATE_LINK_SEND_MAX &&
	       buffer_len(&g->in) <= GATE_LINK_READ_MAX - FRAMES_MAX;
}

int gate_link_read(struct gate_link *g, struct err *e)
{
	size_t left = GATE_LINK_READ_MAX - buffer_len(&g->in);
	size_t room = left < READ_STEP ? left : READ_STEP;
	uint8_t *to = buffer_reserve(&g->in, room);
	int fd;

	if (!room || !to)
		return 1;
	ssize_t n = fd_pass_receive(g->socket, to, room, &fd);
	if (fd >= 0)
		(void)close(fd);
	if (fd != -1)
		return err_set(e, ERR_PROTOCOL, "the gate has sent a descriptor");
	/* The gate has closed its end before it had read all. */
	if (n < 0 && errno == ECONNRESET)
		return 0;
	g->is_dry = n < 0 && errno == EAGAIN;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1
							 : err_sys(e, "read the gate");
	buffer_added(&g->in, (size_t)n);
	return n > 0;
}

int gate_link_next(const struct gate_link *g, struct frame *ret, struct err *e)
{
	return frames_next(&g->in, FRAMES_GATE, ret, e);
}

void gate_link_drop(struct gate_link *g, const struct frame *frame)
{
	buffer_consume(&g->in, FRAME_HEADER + frame->len);
}
