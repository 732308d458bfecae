/* program -- a pattern as a machine that reads bytes: Thompson's automaton.
 *
 * Its instructions are followed in parallel, without backtracking, so the cost is
 * bounded: at most PROGRAM_MAX steps a byte.  A character of UTF-8 is a chain of ranges
 * of bytes; invalid UTF-8 never matches. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_MAX 65536u

struct err;
struct pattern;

enum program_op {
	PROGRAM_MATCH,
	PROGRAM_FAIL,
	PROGRAM_RANGE, /* one byte from low to high, then next */
	PROGRAM_SET,   /* one byte of sets[set], then next */
	PROGRAM_SPLIT, /* next, and other */
	PROGRAM_PLACE, /* next, if the condition `place` holds here */
};

struct program_step {
	uint8_t op; /* enum program_op */
	union {
		struct {
			uint8_t low, high;
		};
		uint8_t place; /* enum pattern_kind, of a place */
	};
	uint32_t next;
	union {
		uint32_t other;
		uint32_t set;
	};
};

/* A set of bytes. */
struct program_set {
	uint64_t bits[4];
};

struct program {
	struct program_step *steps; /* owned */
	struct program_set *sets;   /* owned */
	uint32_t count, set_count;
	uint32_t start;
	bool has_edges;		    /* it has \b or \B */
	uint8_t classes[256];	    /* bytes that no step distinguishes have the same
				     * class */
	uint32_t class_count;
	uint32_t room, set_room;
};

int program_init(struct program *p, const struct pattern *from, struct err *e);
void program_done(struct program *p);

static inline bool program_set_has(const struct program_set *s, uint8_t c)
{
	return s->bits[c >> 6] >> (c & 63) & 1;
}

/* Whether \b, \w and the like take the byte for a part of a word. */
static inline bool program_is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= 'a' && c <= 'z');
}
