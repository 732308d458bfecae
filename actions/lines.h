/* lines -- reads a descriptor line by line, each of a bounded length.
 *
 * A longer line is dropped as it arrives, and reported as LINE_TOO_LONG.  Bytes
 * behind the last newline are a line too, once the input has ended. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct lines {
	struct buffer in;
	size_t max;	/* the most bytes of a line, without its newline */
	size_t scanned; /* bytes of `in` that hold no newline */
	bool is_at_eof, is_skipping;
};

enum line_kind { LINE_NONE, LINE_WHOLE, LINE_TOO_LONG };

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);

/* Reads from the descriptor once.  To be called when lines_next() has returned
 * LINE_NONE. */
int lines_read(struct lines *l, int fd, struct err *e);

/* These do the work of lines_read() for a caller that does its own read(2): where to
 * put at most LINES_AT_ONCE bytes, and how many came; 0 bytes mean the end of the
 * input. */
#define LINES_AT_ONCE (64u << 10)
uint8_t *lines_room(struct lines *l);
void lines_added(struct lines *l, size_t n);

/* Finds the next line, whose bytes stay until lines_took(). */
enum line_kind lines_next(struct lines *l, const char **ret, size_t *ret_len);
void lines_took(struct lines *l);

/* Returns whether every line has been taken and the input has ended. */
bool lines_is_over(const struct lines *l);
