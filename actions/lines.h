/* lines -- reads a descriptor line by line; the length of a line is limited.
 *
 * A longer line is dropped while it is read, and reported as LINE_TOO_LONG. Bytes
 * behind the last newline are a line too, once the input has ended. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct lines {
	struct buffer in;
	size_t max;	/* the most bytes of a line, without its newline */
	size_t scanned; /* how many bytes at the beginning of `in` are known to hold no
			 * newline */
	bool is_at_eof, is_skipping;
};

enum line_kind { LINE_NONE, LINE_WHOLE, LINE_TOO_LONG };

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);

/* Reads from the descriptor once. Must be called only after lines_next() has returned
 * LINE_NONE. */
int lines_read(struct lines *l, int fd, struct err *e);

/* For callers that call read(2) themselves: lines_room() returns where to put at most
 * `len` bytes, which are LINES_AT_ONCE at most, and lines_added() tells how many were
 * read; 0: the input has ended. */
#define LINES_AT_ONCE (64u << 10)
uint8_t *lines_room(struct lines *l, size_t len);
void lines_added(struct lines *l, size_t n);

/* Finds the next line. Its bytes are valid until lines_took(). */
enum line_kind lines_next(struct lines *l, const char **ret, size_t *ret_len);
void lines_took(struct lines *l);

/* Returns whether every line has been taken and the input has ended. */
bool lines_is_over(const struct lines *l);
