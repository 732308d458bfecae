/* pattern -- regular expressions, to find the lines with a match.
 *
 * The dialect is POSIX's extended one (IEEE 1003.1, 9.4) with the escapes that every
 * agent writes; docs/actions.md has the table.  Our own choices are:
 *
 *  - Text is UTF-8. `.` and negated brackets match one whole character, and never a
 *    byte of invalid UTF-8; a line never has its newline in it.
 *  - \d \w \s, \b and [:classes:] know ASCII only, so that the result does not depend
 *    on a library's Unicode tables.
 *  - In brackets too a backslash quotes. In POSIX it is an ordinary character there,
 *    which the author of [^\s] never means.
 *  - $ also matches in front of a carriage return that ends a line.
 *  - A pattern that has different meanings in different programs is refused with an
 *    error that says so.
 *
 * Costs are bounded: a pattern's length, its counts and its program are limited, and
 * matching takes a time linear in the text (nfa_match.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_LENGTH_MAX 4096
#define PATTERN_COUNT_MAX  1000 /* the largest count in a repetition {m,n} */
#define PATTERN_DEPTH_MAX  100	/* the most groups inside each other */

struct err;
struct pattern;
struct charset;

/* Parses `text`. Returns 0 and sets *ret, which the caller frees with pattern_free(), or
 * returns -1 with the error set. */
int pattern_new(struct pattern **ret, const char *text, bool ignores_case, struct err *e);
void pattern_free(struct pattern *p);

/* Returns the pattern in the syntax of Rust's regex, which ripgrep uses; the caller frees
 * it. NULL if that syntax cannot express it. */
char *pattern_in_rust(const struct pattern *p);

/* --- the syntax tree -------------------------------------------------------- */

enum pattern_kind {
	PATTERN_EMPTY,
	PATTERN_SET,	   /* matches one character of a set */
	PATTERN_CAT,	   /* matches its children one behind the other */
	PATTERN_ALT,	   /* matches one of its children */
	PATTERN_REPEAT,	   /* matches its child min to max times */
	PATTERN_LINE_BEGIN,
	PATTERN_LINE_END,
	PATTERN_WORD_EDGE,
	PATTERN_NO_EDGE,
};

#define PATTERN_ENDLESS UINT32_MAX

/* A node of the parsed pattern. Its children are linked from the last to the first:
 * `last` is the number of the last child, `before` that of the preceding sibling. */
struct pattern_node {
	enum pattern_kind kind;
	uint32_t last, before; /* node numbers; 0: none */
	uint32_t min, max;
	struct charset *set; /* owned */
};

/* Returns the number of nodes, including the unused node 0. */
uint32_t pattern_count(const struct pattern *p);
uint32_t pattern_root(const struct pattern *p);
const struct pattern_node *pattern_node(const struct pattern *p, uint32_t at);
