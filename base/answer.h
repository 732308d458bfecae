/* answer -- an answer of `hutch why`: whether something would be allowed, and which
 * setting decides that. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct answer {
	bool is_yes;
	char *text;	   /* owned: the answer, a sentence without its full stop */
	const char *layer; /* the layer that decides, one of those in docs/hutch-why.md */
	char *line;	   /* owned: the flag, key or default that decides; NULL: none */
	char *change;	   /* owned: the change that would give another answer; NULL:
			    * none */
};

/* Replaces the whole answer.  `text` is owned by the answer from then on. */
void answer_set(struct answer *a, bool is_yes, const char *layer, char *text);
void answer_done(struct answer *a);

/* Prints the answer as one JSON object on one line with `as_json`, else as some
 * lines for people. */
void answer_print(const struct answer *a, bool as_json, FILE *to);

#define EXIT_YES 0
#define EXIT_NO	 1
