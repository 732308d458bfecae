/* connection -- one connection to a client: incoming lines, which may bring
 * descriptors, and outgoing lines.
 *
 * Descriptors must be sent together with the first byte of a line, and belong to that
 * line.  If they come with another byte, or are too many, they are closed, and the line
 * is marked as wrong.  A read can return bytes that were sent before the descriptors
 * together with these (unix(7)).  So the waiting bytes are looked at first, and are
 * read so that it is known with which byte the descriptors came.
 *
 * The modules that write to `out` limit how much data may wait there (dispatcher.h,
 * events.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/lines.h"
#include "base/buffer.h"

#define CONNECTION_FDS 3
/* The number of lines with descriptors that may wait to be handled. */
#define CONNECTION_PASSED 4

struct connection_fds {
	int fds[CONNECTION_FDS]; /* owned; the descriptors that came with a line */
	unsigned count;
	bool is_wrong; /* too many descriptors, or not with the first byte of the line */
};

struct connection {
	int fd; /* owned; the connection's socket */
	struct lines lines;
	size_t at_once; /* the most bytes that the next read takes */
	struct buffer out;
	uint64_t taken; /* number of bytes in the lines that were handled */
	uint64_t begun; /* position in the stream of the first byte of the line that is
			 * being received */
	struct {
		uint64_t line; /* position in the stream of the line to which the
				* descriptors belong */
		struct connection_fds fds;
	} passed[CONNECTION_PASSED];
	unsigned passed_count;
};

/* Sets up a connection over a non-blocking socket, which it takes over. */
void connection_init(struct connection *w, int fd, size_t line_max, size_t out_max);
void connection_done(struct connection *w);

/* Returns whether the buffer has room for more bytes. */
bool connection_may_read(const struct connection *w);
/* Read or write the socket once.  False: the connection is broken. */
bool connection_read(struct connection *w);
bool connection_write(struct connection *w);

/* Returns whether the peer has closed both directions, so that no answer can be read. */
bool connection_is_deserted(const struct connection *w);

/* Finds the next line, as lines_next() does; the caller then owns the descriptors in
 * `fds`. */
enum line_kind connection_next(struct connection *w, const char **ret, size_t *ret_len,
			 struct connection_fds *fds);
void connection_took(struct connection *w);

void connection_fds_done(struct connection_fds *f);
