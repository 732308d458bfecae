#include "executor/process/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"

/* The most bytes that are read after the command's end.  The limit is above the number of
 * bytes that the kernel holds between a terminal's slave and its master: 64 KiB of flip
 * buffers and 4 KiB of line discipline at most.  Later bytes were written by other
 * processes than the command, and these may write for ever. */
#define DRAIN_MAX (128u << 10)

/* The size of one read(2). */
#define READ_AT_ONCE (16u << 10)

static void be_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	/* A failure is ignored: only a descriptor that never blocks makes fcntl(2) fail
	 * here. */
	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void relay_init(struct relay *r, const struct terminal *terminal, int in, int out)
{
	*r = (struct relay){ .terminal = *terminal, .in = in, .out = out };
	buffer_init(&r->typed, RELAY_MAX);
	buffer_init(&r->shown, RELAY_MAX);
	be_nonblocking(in);
	be_nonblocking(out);
}

void relay_done(struct relay *r)
{
	if (!r)
		return;
	terminal_close(&r->terminal);
	own_close(&r->in);
	own_close(&r->out);
	buffer_done(&r->typed);
	buffer_done(&r->shown);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool has_room(const struct buffer *b)
{
	return buffer_len(b) < b->max;
}

static bool has_bytes(const struct buffer *b)
{
	return buffer_len(b) > 0;
}

static bool expects_output(const struct relay *r)
{
	return r->terminal.master >= 0 && has_room(&r->shown) &&
	       (!r->is_draining || r->drain_left > 0);
}

/* Adds an entry for a descriptor if there are events to wait for.  Descriptors without
 * events get no entry: poll(2) would report POLLHUP for them all the same, and it accepts
 * only as many entries as the process may have descriptors. */
static size_t watch(struct pollfd *fds, size_t count, int fd, int events)
{
	if (fd < 0 || !events)
		return count;
	fds[count] = (struct pollfd){ .fd = fd, .events = (short)events };
	return count + 1;
}

size_t relay_watch(const struct relay *r, struct pollfd fds[RELAY_FDS])
{
	int reads = expects_output(r) ? POLLIN : 0;
	int writes = has_bytes(&r->typed) ? POLLOUT : 0;
	size_t count = watch(fds, 0, r->in, has_room(&r->typed) ? POLLIN : 0);

	count = watch(fds, count, r->terminal.master, reads | writes);
	return watch(fds, count, r->out, has_bytes(&r->shown) ? POLLOUT : 0);
}

static int happened(const struct pollfd *fds, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i].fd == fd)
			return fds[i].revents;
	return 0;
}

/* Reads without blocking.  The flag is given with the call, since a socket's open file
 * description may be shared with another process that makes it blocking. */
static ssize_t get(int fd, void *to, size_t len)
{
	ssize_t n = recv(fd, to, len, MSG_DONTWAIT);

	return n < 0 && errno == ENOTSOCK ? read(fd, to, len) : n;
}

static ssize_t put(int fd, const void *from, size_t len)
{
	ssize_t n = send(fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, from, len) : n;
}

/* Does one read into the free room of `b`.  Returns the number of bytes read; 0: end of
 * file, or an error; -1: there is nothing to read now. */
static ssize_t read_some(int fd, struct buffer *b)
{
	size_t room = smaller(b->max - buffer_len(b), READ_AT_ONCE);
	ssize_t n = get(fd, buffer_reserve(b, room), room);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	buffer_added(b, (size_t)n);
	return n;
}

/* Writes as much of `b` as `fd` accepts.  Returns false if `fd` has failed, so that it
 * will never accept another byte. */
static bool write_some(int fd, struct buffer *b)
{
	ssize_t n = put(fd, buffer_data(b), buffer_len(b));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	buffer_consume(b, (size_t)n);
	return true;
}

static void stop_input(struct relay *r)
{
	own_close(&r->in);
	buffer_done(&r->typed);
}

/* Closes the terminal when no more output can come from it; output that was read before
 * is still written. */
static void end_terminal(struct relay *r)
{
	stop_input(r);
	terminal_close(&r->terminal);
}

static void hang_up(struct relay *r)
{
	end_terminal(r);
	own_close(&r->out);
	buffer_done(&r->shown);
}

static void type_eof(struct relay *r)
{
	int eof = terminal_eof_char(&r->terminal);
	int times = r->is_line_open && terminal_is_by_line(&r->terminal) ? 2 : 1;

	if (eof < 0)
		return;
	/* The queue may be full, so its limit is raised by the two bytes that the
	 * end-of-file characters may take; no other bytes follow them. */
	r->typed.max += 2;
	for (int i = 0; i < times; i++) {
		uint8_t byte = (uint8_t)eof;
		(void)buffer_append(&r->typed, &byte, 1); /* cannot fail: the limit was
							   * raised for this byte */
	}
}

static void read_input(struct relay *r)
{
	ssize_t n = read_some(r->in, &r->typed);

	if (n > 0)
		r->is_line_open = r->typed.bytes[r->typed.end - 1] != '\n';
	if (n != 0)
		return;
	type_eof(r);
	own_close(&r->in);
}

/* Reads the terminal until the queue is full or the terminal has no more output.  EAGAIN
 * from a master surely means that there is none: before it returns that, the kernel
 * passes all pending output on to the master. */
static void read_output(struct relay *r)
{
	while (expects_output(r)) {
		ssize_t n = read_some(r->terminal.master, &r->shown);
		if (n == 0)
			end_terminal(r);
		if (n <= 0)
			r->drain_left = 0;
		if (n <= 0)
			return;
		if (r->is_draining)
			r->drain_left -= smaller((size_t)n, r->drain_left);
	}
}

static void write_output(struct relay *r)
{
	if (has_bytes(&r->shown) && !write_some(r->out, &r->shown))
		hang_up(r);
}

static void write_input(struct relay *r)
{
	if (has_bytes(&r->typed) && !write_some(r->terminal.master, &r->typed))
		stop_input(r);
}

void relay_serve(struct relay *r, const struct pollfd *fds, size_t count)
{
	int in = happened(fds, count, r->in), out = happened(fds, count, r->out);
	int master = happened(fds, count, r->terminal.master);

	if (in)
		read_input(r);
	if (in || (master & POLLOUT))
		write_input(r);
	if (master & ~POLLOUT)
		read_output(r);
	if (master || out)
		write_output(r);
}

void relay_drain(struct relay *r)
{
	if (r->is_draining)
		return;
	stop_input(r);
	r->is_draining = true;
	r->drain_left = DRAIN_MAX;
	read_output(r);
	write_output(r);
}

bool relay_is_drained(const struct relay *r)
{
	return r->is_draining && !has_bytes(&r->shown) && !expects_output(r);
}
