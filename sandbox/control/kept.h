/* kept -- the last of what a stream has carried, and the count of all of it.
 *
 * Bytes are known by their number in the stream, from 0.  Those from `begin` to `end`
 * are here, those before are lost.  Whoever reads keeps the number that it has got
 * to, and finds out by it what it has missed; so any number of readers costs nothing,
 * and one that does not read holds nothing up.
 *
 * The zero object is empty, and has no memory yet. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Of one stream. */
#define KEPT_MAX (1u << 20)
/* The least that has a place; what is granted is a power of two. */
#define KEPT_MIN (4u << 10)

struct kept {
	uint8_t *bytes; /* owned; byte n is at n % room */
	size_t room;
	uint64_t begin, end;
};

void kept_done(struct kept *k);

/* How much more memory would keep all of these too, as far as KEPT_MAX goes. */
size_t kept_wants(const struct kept *k, size_t len);

/* Adds bytes, with `more` bytes of memory granted on top of what it has, at most what
 * it wants, which make a power of two with it.  The oldest make place. */
void kept_add(struct kept *k, const void *bytes, size_t len, size_t more);

/* Copies what is kept from number `at` on, which is between begin and end; at most
 * `max` bytes.  Returns how many. */
size_t kept_copy(const struct kept *k, uint64_t at, void *to, size_t max);

/* Gives all memory back: everything is lost, and counted. */
void kept_drop(struct kept *k);
