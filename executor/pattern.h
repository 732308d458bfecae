/* pattern -- regular expressions: which lines have a match.
 *
 * The dialect is POSIX's extended one (IEEE 1003.1, 9.4) with the escapes that every
 * agent writes; docs/actions.md has the table.  What is a choice of ours:
 *
 *  - Text is UTF-8.  `.` and negated brackets match one whole character and no byte
 *    that is none; a line never has its newline in it.
 *  - \d \w \s, \b and [:classes:] know ASCII only, so that no engine's tables matter.
 *  - In brackets too a backslash quotes.  POSIX has it as a character there, and who
 *    writes [^\s] never means that.
 *  - $ matches in front of a carriage return that ends a line.
 *  - What is read in two ways by two programs is an error that says so.
 *
 * The rest is what bounds it: a pattern's length, its counts and its program are
 * limited, and matching takes a time linear in the text (matcher.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_LENGTH_MAX 4096
#define PATTERN_COUNT_MAX  1000 /* of {m,n} */
#define PATTERN_DEPTH_MAX  100	/* groups in groups */

struct err;
struct pattern;
struct runes;

/* Reads `text`.  *ret is the caller's then, for pattern_free(). */
int pattern_new(struct pattern **ret, const char *text, bool ignores_case, struct err *e);
void pattern_free(struct pattern *p);

/* The same in the syntax of Rust's regex, as ripgrep takes it, to be freed; NULL when
 * that has no words for it. */
char *pattern_in_rust(const struct pattern *p);

/* --- what it is made of ----------------------------------------------------- */

enum pattern_kind {
	PATTERN_EMPTY,
	PATTERN_SET,	   /* one character of a set */
	PATTERN_CAT,	   /* one behind the other */
	PATTERN_ALT,	   /* one or the other */
	PATTERN_REPEAT,	   /* min to max times */
	PATTERN_LINE_BEGIN,
	PATTERN_LINE_END,
	PATTERN_WORD_EDGE,
	PATTERN_NO_EDGE,
};

#define PATTERN_ENDLESS UINT32_MAX

/* A part of it, and its children from the last to the first. */
struct pattern_node {
	enum pattern_kind kind;
	uint32_t last, before; /* 0: none */
	uint32_t min, max;
	struct runes *set; /* owned */
};

/* How many there are; the first, 0, is none. */
uint32_t pattern_count(const struct pattern *p);
uint32_t pattern_root(const struct pattern *p);
const struct pattern_node *pattern_node(const struct pattern *p, uint32_t at);
