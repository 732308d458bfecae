/* lines -- a descriptor, line by line, each of a bounded length.
 *
 * One that is longer is dropped as it comes, and told of as such.  What stands
 * behind the last newline is a line too, once nothing more comes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct lines {
	struct buffer in;
	size_t max;	/* bytes of a line, without its newline */
	size_t scanned; /* so much of `in` has no newline */
	bool is_at_eof, is_skipping;
};

enum line_kind { LINE_NONE, LINE_WHOLE, LINE_TOO_LONG };

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);

/* Reads once.  To be called when lines_next() has none. */
int lines_read(struct lines *l, int fd, struct err *e);

/* The same for who reads in a way of its own: where to, and how much came; 0 is the
 * end. */
#define LINES_AT_ONCE (64u << 10)
uint8_t *lines_room(struct lines *l);
void lines_added(struct lines *l, size_t n);

/* The next line, good until lines_took(). */
enum line_kind lines_next(struct lines *l, const char **ret, size_t *ret_len);
void lines_took(struct lines *l);

/* Whether all that came has been taken, and nothing more will come. */
bool lines_is_over(const struct lines *l);
