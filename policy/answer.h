/* answer -- whether something would be allowed, and what decides that: `hutch why`. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct answer {
	bool is_yes;
	char *text;	   /* owned: a sentence without its end */
	const char *layer; /* of docs/hutch-why.md */
	char *line;	   /* owned: the flag, key or default that says so; NULL: none does */
	char *change;	   /* owned: what would change it; NULL: nothing */
};

/* Replaces all of it.  `text` is owned from then on. */
void answer_set(struct answer *a, bool is_yes, const char *layer, char *text);
void answer_done(struct answer *a);

/* With `as_json` one object on one line, else some lines for a person. */
void answer_print(const struct answer *a, bool as_json, FILE *to);

#define EXIT_YES 0
#define EXIT_NO	 1
