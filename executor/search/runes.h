/* runes -- a set of characters, as ranges of code points.
 *
 * A zeroed struct is the empty set.  After runes_add() a set must be settled
 * (runes_settle) before it is queried; the other functions leave a settled set. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNE_MAX 0x10ffffu

struct runes_range {
	uint32_t first, last;
};

struct runes {
	struct runes_range *ranges; /* owned; once settled: sorted, and neither
				     * overlapping nor adjacent */
	size_t count, room;
};

void runes_done(struct runes *s);

void runes_add(struct runes *s, uint32_t first, uint32_t last);
void runes_add_all(struct runes *s, const struct runes *other);
void runes_settle(struct runes *s);

bool runes_has(const struct runes *s, uint32_t c);

/* Turns the set into all characters that are not in it. */
void runes_negate(struct runes *s);
void runes_remove(struct runes *s, uint32_t first, uint32_t last);

/* Adds the other case of each letter in the set, for ASCII, Latin-1, Latin Extended-A,
 * Greek and Cyrillic letters that have exactly one other case. */
void runes_fold(struct runes *s);

/* Writes the character in UTF-8; returns the number of bytes. */
int runes_encode(uint32_t c, uint8_t out[4]);
