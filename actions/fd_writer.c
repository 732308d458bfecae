#include "actions/fd_writer.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"

/* A write of this size to a pipe does not block after poll(2) has reported the pipe as
 * writable (PIPE_BUF, pipe(7)). */
#define WRITE_SMALL 4096

void fd_writer_init(struct fd_writer *o, int fd, size_t max)
{
	struct stat st;

	*o = (struct fd_writer){ .fd = fd };
	buffer_init(&o->out, max);
	o->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

void fd_writer_done(struct fd_writer *o)
{
	buffer_done(&o->out);
}

/* Returns whether the error says that the file does not support RWF_NOWAIT: not every
 * kind of file does (pwritev2(2)). */
static bool is_unknown(int error)
{
	return error == EOPNOTSUPP || error == EINVAL || error == ENOSYS ||
	       error == ESPIPE;
}

static ssize_t write_some(struct fd_writer *o, bool is_ready)
{
	const struct iovec all = { (void *)(uintptr_t)buffer_data(&o->out),
				   buffer_len(&o->out) };
	size_t small = all.iov_len < WRITE_SMALL ? all.iov_len : WRITE_SMALL;

	if (o->is_file)
		return write(o->fd, all.iov_base, all.iov_len);
	if (!o->is_slow) {
		ssize_t n = sys_write_nowait(o->fd, &all);
		if (n >= 0 || !is_unknown(errno))
			return n;
		o->is_slow = true;
	}
	if (is_ready)
		return write(o->fd, all.iov_base, small);
	errno = EAGAIN;
	return -1;
}

int fd_writer_flush(struct fd_writer *o, bool is_ready, struct err *e)
{
	while (buffer_len(&o->out) > 0) {
		ssize_t n = write_some(o, is_ready);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0) {
			(void)err_sys(e, "write an observation");
			buffer_consume(&o->out, buffer_len(&o->out));
			return -1;
		}
		buffer_consume(&o->out, (size_t)n);
		is_ready = false;
	}
	return 0;
}
