/* charset -- a set of characters, as ranges of code points.
 *
 * A zeroed struct is the empty set. After charset_add() or charset_add_all(), the
 * caller must call charset_settle(), which sorts and merges the ranges, before any
 * other function; all others leave the ranges sorted and merged. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODEPOINT_MAX 0x10ffffu

struct charset_range {
	uint32_t first, last;
};

struct charset {
	struct charset_range *ranges; /* owned; after charset_settle(): sorted, and
				       * neither overlapping nor adjacent */
	size_t count, room;
};

void charset_done(struct charset *s);

void charset_add(struct charset *s, uint32_t first, uint32_t last);
void charset_add_all(struct charset *s, const struct charset *other);
void charset_settle(struct charset *s);

bool charset_has(const struct charset *s, uint32_t c);

/* Turns the set into all characters that are not in it. */
void charset_negate(struct charset *s);
void charset_remove(struct charset *s, uint32_t first, uint32_t last);

/* Adds the other case of each letter in the set, for ASCII, Latin-1, Latin Extended-A,
 * Greek and Cyrillic letters that have exactly one other case. */
void charset_fold(struct charset *s);

/* Writes the character to `out` in UTF-8; returns the number of bytes. */
int charset_encode(uint32_t c, uint8_t out[4]);
