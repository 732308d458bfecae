/* pattern -- regular expressions, to find the lines with a match.
 *
 * The dialect is POSIX's extended one (IEEE 1003.1, 9.4) with the escapes that every
 * agent writes; docs/actions.md has the table.  Our own choices are:
 *
 *  - Text is UTF-8. `.` and negated brackets match one whole character and no byte
 *    that is none; a line never has its newline in it.
 *  - \d \w \s, \b and [:classes:] know ASCII only, so that no engine's tables matter.
 *  - In brackets too a backslash quotes. POSIX takes it for a character there, which
 *    the author of [^\s] never means.
 *  - $ matches in front of a carriage return that ends a line.
 *  - A pattern that two programs read in two ways is an error that says so.
 *
 * Costs are bounded: a pattern's length, its counts and its program are limited, and
 * matching takes a time linear in the text (nfa_match.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_LENGTH_MAX 4096
#define PATTERN_COUNT_MAX  1000 /* of {m,n} */
#define PATTERN_DEPTH_MAX  100	/* nested groups */

struct err;
struct pattern;
struct charset;

/* Parses `text`. *ret is the caller's, for pattern_free(). */
int pattern_new(struct pattern **ret, const char *text, bool ignores_case, struct err *e);
void pattern_free(struct pattern *p);

/* The same pattern in the syntax of Rust's regex, which ripgrep uses; the caller frees
 * it.  NULL if that syntax cannot express it. */
char *pattern_in_rust(const struct pattern *p);

/* --- the syntax tree -------------------------------------------------------- */

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

/* A node.  Its children are linked from the last to the first. */
struct pattern_node {
	enum pattern_kind kind;
	uint32_t last, before; /* node numbers; 0: none */
	uint32_t min, max;
	struct charset *set; /* owned */
};

/* The number of nodes; number 0 is no node. */
uint32_t pattern_count(const struct pattern *p);
uint32_t pattern_root(const struct pattern *p);
const struct pattern_node *pattern_node(const struct pattern *p, uint32_t at);
