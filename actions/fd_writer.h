/* fd_writer -- writes observations to the caller's descriptor, as fast as it takes
 * them.
 *
 * The descriptor is the caller's stdout, and other processes have it open too.
 * O_NONBLOCK would affect them, so it is not set. Each write uses RWF_NOWAIT
 * (pwritev2(2)) instead; if the descriptor does not support that, small writes follow a
 * poll(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct fd_writer {
	int fd; /* borrowed; the descriptor to write to */
	struct buffer out;
	bool is_file; /* the descriptor is a regular file, where no write blocks */
	bool is_slow; /* the descriptor does not support RWF_NOWAIT */
};

void fd_writer_init(struct fd_writer *o, int fd, size_t max);
void fd_writer_done(struct fd_writer *o);

/* Writes as much as possible without waiting; `is_ready`: poll(2) has reported
 * POLLOUT. -1: the write failed, for example because the reader has gone; all bytes
 * were dropped. */
int fd_writer_flush(struct fd_writer *o, bool is_ready, struct err *e);
