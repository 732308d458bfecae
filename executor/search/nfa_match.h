/* nfa_match -- finds the lines of a text that match a pattern.
 *
 * There are two engines, and neither backtracks.  A literal that every match must
 * contain is searched first (literal.h).  Without such a literal, or for the line that
 * has it, a deterministic automaton reads each byte once.  Its states are made from the
 * program as they are needed, and forgotten when they take more than NFA_MATCH_ROOM.  So
 * the time for each byte is at most that of the program's steps, and nearly always that
 * of one table look-up.
 *
 * A prepared pattern is read only and may be shared by threads; each thread has a
 * matcher of its own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/search/literal.h"
#include "executor/search/nfa.h"

#define NFA_MATCH_ROOM ((size_t)2 << 20) /* the limit in bytes of each of the matcher's
					  * two arrays */

struct err;

/* A pattern that is ready for matching. */
struct prepared {
	struct nfa nfa; /* owned */
	struct literal literal;
};

int prepared_init(struct prepared *p, const struct pattern *from, struct err *e);
void prepared_done(struct prepared *p);

struct nfa_match;

struct nfa_match *nfa_match_new(const struct prepared *p);
void nfa_match_free(struct nfa_match *m);

/* A line, without its newline. */
struct line {
	const uint8_t *start, *end;
};

/* Finds the first line with a match.  The text must begin and end where a line does;
 * the last newline may be missing.  An empty text has no line. */
bool nfa_match_find(struct nfa_match *m, const uint8_t *at, const uint8_t *end,
		  struct line *ret);
