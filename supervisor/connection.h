/* connection -- the bytes of one connection: incoming lines with descriptors, and
 * outgoing lines.
 *
 * Descriptors belong to the line whose first byte they came with.  Descriptors
 * that came with another byte, or are more than a line may bring, are closed,
 * and the line is marked.  The kernel returns bytes from before descriptors
 * together with these (unix(7)), so the waiting bytes are looked at first, and
 * a read of bytes with descriptors ends where a line may begin.
 *
 * The modules that write to `out` bound the data that is not read (dispatcher.h,
 * events.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/lines.h"
#include "base/buffer.h"

#define CONNECTION_FDS 3
/* The most lines with descriptors that may wait at a time. */
#define CONNECTION_PASSED 4

struct connection_fds {
	int fds[CONNECTION_FDS]; /* owned; the descriptors that came with a line */
	unsigned count;
	bool is_wrong; /* the line came with too many, or they were beside the wrong
		        * byte */
};

struct connection {
	int fd; /* owned; the connection's socket */
	struct lines lines;
	struct buffer out;
	uint64_t taken; /* number of bytes in the lines that were taken */
	uint64_t begun; /* number of the byte at which the line that is being received
			 * begins */
	struct {
		uint64_t line; /* number of the byte at which the descriptors' line
			        * begins */
		struct connection_fds fds;
	} passed[CONNECTION_PASSED];
	unsigned passed_count;
};

/* Sets up a connection over the socket `fd`, which must not block and is taken over. */
void connection_init(struct connection *w, int fd, size_t line_max, size_t out_max);
void connection_done(struct connection *w);

/* Returns whether there is room to read more bytes. */
bool connection_may_read(const struct connection *w);
/* These read and write the socket once.  False: the connection is broken. */
bool connection_read(struct connection *w);
bool connection_write(struct connection *w);

/* Returns whether the peer has closed both directions, so that no answer can be read. */
bool connection_is_deserted(const struct connection *w);

/* Finds the next line, like lines_next(); the caller owns the descriptors in `fds`. */
enum line_kind connection_next(struct connection *w, const char **ret, size_t *ret_len,
			 struct connection_fds *fds);
void connection_took(struct connection *w);

void connection_fds_done(struct connection_fds *f);
