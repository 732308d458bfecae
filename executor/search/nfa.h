/* nfa -- compiles a pattern into a machine that reads bytes: Thompson's automaton.
 *
 * All steps that can be reached are followed at the same time, without backtracking, so
 * the cost is bounded: at most NFA_MAX steps a byte. A character of UTF-8 is a chain of
 * ranges of bytes; invalid UTF-8 never matches. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NFA_MAX 65536u

struct err;
struct pattern;

enum nfa_op {
	NFA_MATCH,
	NFA_FAIL,
	NFA_RANGE, /* reads one byte from low to high, then goes to `next` */
	NFA_SET,   /* reads one byte of sets[set], then goes to `next` */
	NFA_SPLIT, /* goes to both `next` and `other`, without reading */
	NFA_PLACE, /* goes to `next`, without reading, if `place` holds here: the begin
		    * of the line (^), its end ($), a word boundary (\b), or no boundary
		    * (\B) */
};

struct nfa_step {
	uint8_t op; /* enum nfa_op */
	union {
		struct {
			uint8_t low, high;
		};
		uint8_t place; /* enum pattern_kind, for NFA_PLACE */
	};
	uint32_t next;
	union {
		uint32_t other;
		uint32_t set;
	};
};

/* A set of bytes. */
struct nfa_set {
	uint64_t bits[4];
};

struct nfa {
	struct nfa_step *steps; /* owned */
	struct nfa_set *sets;   /* owned */
	uint32_t count, set_count;
	uint32_t start;
	bool has_edges;		    /* the pattern has \b or \B */
	uint8_t classes[256];	    /* the class of each byte; no step treats two bytes
				     * of a class differently */
	uint32_t class_count;
	uint32_t room, set_room;
};

int nfa_init(struct nfa *p, const struct pattern *from, struct err *e);
void nfa_done(struct nfa *p);

static inline bool nfa_set_has(const struct nfa_set *s, uint8_t c)
{
	return s->bits[c >> 6] >> (c & 63) & 1;
}

/* Returns whether the byte is part of a word, for \b and \w. */
static inline bool nfa_is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= 'a' && c <= 'z');
}
