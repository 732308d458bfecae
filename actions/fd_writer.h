/* fd_writer -- writes observations to the caller's descriptor, as fast as it takes
 * them.
 *
 * The descriptor is the caller's stdout and open in other processes too, so it
 * is not made non-blocking, which would affect them.  Each write asks not to
 * block (RWF_NOWAIT) instead; a descriptor that does not support that gets
 * small writes, after poll(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct fd_writer {
	int fd; /* borrowed; the descriptor to write to */
	struct buffer out;
	bool is_file; /* the descriptor is a file, so a write never blocks */
	bool is_slow; /* the descriptor does not support RWF_NOWAIT */
};

void fd_writer_init(struct fd_writer *o, int fd, size_t max);
void fd_writer_done(struct fd_writer *o);

/* Writes as much as possible without waiting; `is_ready`: poll(2) reported
 * POLLOUT. -1: the write failed, as when the reader has gone, and the rest was
 * dropped. */
int fd_writer_flush(struct fd_writer *o, bool is_ready, struct err *e);
