/* matcher -- which lines of a text have a match of a pattern.
 *
 * Two engines, and nothing that tries and comes back.  A literal that every match must
 * contain is looked for first (needle.h); where there is none, or for the line that has
 * it, a deterministic automaton reads each byte once.  It is made as it is needed, from
 * the program, and forgotten when it takes more than MATCHER_ROOM: so the time is at
 * most that of the program's steps for each byte, and nearly always one look into a
 * table.
 *
 * A prepared pattern is read only and may be shared by threads; each has a matcher of
 * its own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executor/needle.h"
#include "executor/program.h"

#define MATCHER_ROOM ((size_t)2 << 20) /* bytes; of each of its two arrays */

struct err;

/* A pattern that has been made ready. */
struct prepared {
	struct program program; /* owned */
	struct needle needle;
};

int prepared_init(struct prepared *p, const struct pattern *from, struct err *e);
void prepared_done(struct prepared *p);

struct matcher;

struct matcher *matcher_new(const struct prepared *p);
void matcher_free(struct matcher *m);

/* A line, without its newline. */
struct line {
	const uint8_t *start, *end;
};

/* The first line with a match, of a text that begins where a line does, and ends where
 * one does, with or without a newline.  An empty text has no line. */
bool matcher_find(struct matcher *m, const uint8_t *at, const uint8_t *end,
		  struct line *ret);
