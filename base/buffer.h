/* buffer -- bytes in a queue, with an upper bound.
 *
 * Grows as needed up to `max` and never beyond it: what comes from the inside
 * of a sandbox is collected in one of these, so the bound is what keeps a
 * hostile peer from filling our memory.  A zeroed struct is an empty buffer
 * that may hold nothing; buffer_init() gives it its bound. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *bytes; /* owned */
	size_t start;	/* first byte not yet consumed */
	size_t end;	/* one past the last byte */
	size_t room;	/* allocated */
	size_t max;	/* never more than this many unconsumed bytes */
	bool is_cut;	/* a part of what is being put together did not fit */
};

void buffer_init(struct buffer *b, size_t max);
void buffer_done(struct buffer *b);

/* What is there and not yet consumed.  The pointer is never NULL: a caller may add the
 * length to it, which C allows to no null pointer. */
const uint8_t *buffer_data(const struct buffer *b);
size_t buffer_len(const struct buffer *b);

/* Makes room for `len` more bytes and returns where to put them, or NULL when
 * that would go over the bound.  buffer_added() then says how many came. */
uint8_t *buffer_reserve(struct buffer *b, size_t len);
void buffer_added(struct buffer *b, size_t len);

/* reserve, copy, added.  False when it does not fit: nothing is added. */
bool buffer_append(struct buffer *b, const void *data, size_t len);

/* Drops the first `len` bytes; at most what is there. */
void buffer_consume(struct buffer *b, size_t len);
