/* output_ring -- a ring buffer with the last bytes of a stream.
 *
 * A byte's position is its number in the stream, counted from 0.  The bytes from
 * `begin` up to `end` are kept; those before `begin` are lost.  Each reader remembers
 * the position up to which it has read, so it notices how many bytes it has missed.
 * The ring does not know its readers: any number of them may read, and a slow one
 * delays nothing.
 *
 * The zero object is an empty ring, without memory. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The most memory in bytes for the ring of one stream. */
#define OUTPUT_RING_MAX (1u << 20)
/* The least memory in bytes for a ring that is not empty; its size is always a power of
 * two. */
#define OUTPUT_RING_MIN (4u << 10)

struct output_ring {
	uint8_t *bytes; /* owned; the byte at position n is at index n % room */
	size_t room;
	uint64_t begin, end;
};

void output_ring_done(struct output_ring *k);

/* Returns how many bytes of memory the ring needs in addition to keep `len` more bytes
 * without losing any, as far as OUTPUT_RING_MAX permits. */
size_t output_ring_wants(const struct output_ring *k, size_t len);

/* Adds bytes to the ring, whose memory first grows by `more` bytes.  `more` is at most
 * the result of output_ring_wants(), and the new size must be a power of two.  If there
 * is no room the oldest bytes are overwritten. */
void output_ring_add(struct output_ring *k, const void *bytes, size_t len, size_t more);

/* Copies up to `max` kept bytes from position `at` on, which must be between begin and
 * end.  Returns the number of bytes. */
size_t output_ring_copy(const struct output_ring *k, uint64_t at, void *to, size_t max);

/* Frees the ring's memory: all kept bytes are lost, but the positions go on. */
void output_ring_drop(struct output_ring *k);
