/* output_ring -- the last bytes of a stream, and the count of all of them.
 *
 * Bytes are known by their number in the stream, from 0.  Those from `begin` to
 * `end` are here, those before are lost.  A reader keeps the number that it has
 * got to, and sees by it what it has missed; so any number of readers costs
 * nothing, and a reader that does not read holds nothing up.
 *
 * The zero object is empty, and has no memory yet. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The most memory that one stream gets, in bytes. */
#define OUTPUT_RING_MAX (1u << 20)
/* The least memory that a stream gets; the room is always a power of two. */
#define OUTPUT_RING_MIN (4u << 10)

struct output_ring {
	uint8_t *bytes; /* owned; byte n is at n % room */
	size_t room;
	uint64_t begin, end;
};

void output_ring_done(struct output_ring *k);

/* Returns how much more memory would keep `len` more bytes too, within
 * OUTPUT_RING_MAX. */
size_t output_ring_wants(const struct output_ring *k, size_t len);

/* Adds bytes to the ring.  `more` bytes of memory are granted on top of the room: at
 * most what output_ring_wants() says, and so that the sum is a power of two.  The
 * oldest bytes make place. */
void output_ring_add(struct output_ring *k, const void *bytes, size_t len, size_t more);

/* Copies the kept bytes from number `at` on, which is between begin and end; at
 * most `max`.  Returns how many. */
size_t output_ring_copy(const struct output_ring *k, uint64_t at, void *to, size_t max);

/* Gives all memory of the ring back: every byte is lost, and still counted. */
void output_ring_drop(struct output_ring *k);
