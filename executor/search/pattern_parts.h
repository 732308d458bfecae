/* pattern_parts -- declarations that the source files of the pattern parser share.
 *
 *	pattern.c	  the grammar
 *	pattern_bracket.c [brackets] and \escapes
 *	pattern_rust.c	  the translation for ripgrep
 *
 * Each function that parses moves `at` behind the text that it has read, or returns -1
 * with the error set. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "executor/search/charset.h"
#include "executor/search/pattern.h"

struct reader {
	const uint8_t *text, *at, *end;
	struct pattern *made;
	bool ignores_case;
	unsigned depth;
	struct err *e;
};

/* The end of many error messages: how to write a special character that means itself. */
#define ITSELF " the character itself has a backslash in front"

/* Sets an error about the character at `where`; returns -1. */
int reader_refuse(const struct reader *r, const uint8_t *where, const char *why);

/* Reads the character at `at`; the caller has checked that the pattern has one more. */
uint32_t reader_codepoint(struct reader *r);

/* The result of reading an escape: a set of characters, such as that of \d, which the
 * caller then owns, or one character. */
struct escape {
	struct charset set;
	uint32_t codepoint;
	bool is_set;
};
int reader_escape(struct reader *r, struct escape *ret);

/* Reads the rest of a bracket, whose [ has been read, into an empty set. */
int reader_bracket(struct reader *r, struct charset *set);
