/* wire -- the bytes of one connection: incoming lines with descriptors, and
 * outgoing lines.
 *
 * Descriptors belong to the line whose first byte they came with.  Descriptors
 * that came with another byte, or are more than a line may bring, are closed,
 * and the line is marked.  The kernel returns bytes from before descriptors
 * together with these (unix(7)), so the waiting bytes are looked at first, and
 * a read of bytes with descriptors ends where a line may begin.
 *
 * The modules that write to `out` bound the data that is not read (desk.h,
 * events.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actions/lines.h"
#include "base/buffer.h"

#define WIRE_FDS 3
/* The most lines with descriptors that may wait at a time. */
#define WIRE_PASSED 4

struct wire_fds {
	int fds[WIRE_FDS]; /* owned */
	unsigned count;
	bool is_wrong; /* too many, or beside the wrong byte */
};

struct wire {
	int fd; /* owned */
	struct lines lines;
	struct buffer out;
	uint64_t taken; /* bytes of the lines that were taken */
	uint64_t begun; /* where the line begins that is being received */
	struct {
		uint64_t line; /* where the line begins */
		struct wire_fds fds;
	} passed[WIRE_PASSED];
	unsigned passed_count;
};

/* Takes `fd` over, which must not block. */
void wire_init(struct wire *w, int fd, size_t line_max, size_t out_max);
void wire_done(struct wire *w);

/* Whether there is room to read. */
bool wire_may_read(const struct wire *w);
/* These read and write once.  False: the connection is broken. */
bool wire_read(struct wire *w);
bool wire_write(struct wire *w);

/* Whether the peer has closed both directions, so that no answer can be
 * read. */
bool wire_is_deserted(const struct wire *w);

/* Like lines_next(); the caller owns `fds`. */
enum line_kind wire_next(struct wire *w, const char **ret, size_t *ret_len,
			 struct wire_fds *fds);
void wire_took(struct wire *w);

void wire_fds_done(struct wire_fds *f);
