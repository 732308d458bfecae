/* buffer -- bytes in a queue, with an upper bound.
 *
 * The buffer grows as needed up to `max` and never beyond it.  Bytes from the inside
 * of a sandbox are collected in such a buffer, so the bound keeps a hostile peer from
 * filling our memory.  A zeroed struct is an empty buffer that may hold nothing;
 * buffer_init() gives it its bound. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *bytes; /* owned: the buffer's memory */
	size_t start;	/* the offset of the first byte that is not yet consumed */
	size_t end;	/* the offset one past the last byte */
	size_t room;	/* the size of `bytes` */
	size_t max;	/* the bound: there are never more unconsumed bytes */
	bool is_cut;	/* a part of the frame or JSON text that is being written did not
			 * fit */
};

void buffer_init(struct buffer *b, size_t max);
void buffer_done(struct buffer *b);

/* buffer_data() returns the bytes that are not consumed yet, and buffer_len() their
 * number. The pointer is never NULL: a caller may add the length to it, which C does
 * not allow for a null pointer. */
const uint8_t *buffer_data(const struct buffer *b);
size_t buffer_len(const struct buffer *b);

/* Makes room for `len` more bytes and returns where they go, or NULL if they would
 * exceed the bound.  buffer_added() then says how many bytes were written there. */
uint8_t *buffer_reserve(struct buffer *b, size_t len);
void buffer_added(struct buffer *b, size_t len);

/* Appends a copy of `data`.  Returns false if it does not fit, and then adds nothing. */
bool buffer_append(struct buffer *b, const void *data, size_t len);

/* Drops the first `len` bytes; `len` is at most the buffer's length. */
void buffer_consume(struct buffer *b, size_t len);
