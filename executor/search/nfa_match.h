/* nfa_match -- finds the lines of a text that match a pattern.
 *
 * There are two engines, and neither backtracks. If every match must contain a literal,
 * it is searched for first (literal.h), and only lines that have it are read by the
 * automaton; otherwise the automaton reads all lines. The automaton is a deterministic
 * one, and reads each byte once. Its states are made from the NFA's steps as they are
 * needed, and dropped when they take more than NFA_MATCH_ROOM. So the time for each
 * byte is at most that of the NFA's steps, and nearly always that of one table look-up.
 *
 * A prepared pattern is read only and may be shared by threads; each thread has a
 * matcher of its own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/search/literal.h"
#include "executor/search/nfa.h"

#define NFA_MATCH_ROOM ((size_t)2 << 20) /* the limit in bytes of the matcher's table,
					  * and of its list of steps */

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

/* Finds the first line with a match. The text must consist of whole lines; the newline
 * of the last one may be missing. An empty text has no line. */
bool nfa_match_find(struct nfa_match *m, const uint8_t *at, const uint8_t *end,
		  struct line *ret);
