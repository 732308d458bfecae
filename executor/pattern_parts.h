/* pattern_parts -- between the parts of the reader of patterns.
 *
 *	pattern.c	  the grammar
 *	pattern_bracket.c [brackets] and \escapes
 *	pattern_rust.c	  the same for ripgrep
 *
 * Each step leaves `at` behind what it has read, or returns -1 with the error said. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "executor/pattern.h"
#include "executor/runes.h"

struct reader {
	const uint8_t *text, *at, *end;
	struct pattern *made;
	bool ignores_case;
	unsigned depth;
	struct err *e;
};

/* The end of many of those. */
#define ITSELF " the character itself has a backslash in front"

/* Says what is wrong with the character at `where`; always -1. */
int reader_refuse(const struct reader *r, const uint8_t *where, const char *why);

/* The character at `at`, which there is. */
uint32_t reader_rune(struct reader *r);

/* What stands behind a backslash that has been read: *ret_set for a class, which is
 * owned then, else *ret, a character.  Behind `where` the backslash stands. */
struct escape {
	struct runes set;
	uint32_t rune;
	bool is_set;
};
int reader_escape(struct reader *r, struct escape *ret);

/* What stands behind a [ that has been read, into an empty set. */
int reader_bracket(struct reader *r, struct runes *set);
