/* outlet -- writes to a descriptor of the caller's, as it takes them.
 *
 * The descriptor is the caller's stdout, open elsewhere too, so it is not made
 * non-blocking: a pipe is asked not to block for this one write, and what does not
 * know that gets little, after poll(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct err;

struct outlet {
	int fd; /* borrowed */
	struct buffer out;
	bool is_file; /* never blocks */
	bool is_slow; /* cannot be asked not to */
};

void outlet_init(struct outlet *o, int fd, size_t max);
void outlet_done(struct outlet *o);

/* Writes what can be written without waiting; `is_ready`: poll(2) said POLLOUT.
 * -1: nobody reads any more, and what was left is dropped. */
int outlet_flush(struct outlet *o, bool is_ready, struct err *e);
