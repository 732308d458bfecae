/* expand -- words as a Dockerfile has them: quotes, escapes and variables
 * (docs.docker.com, Dockerfile reference, "Environment replacement"; BuildKit's shell
 * lexer decides where that is silent).
 *
 *	$NAME ${NAME}	its value; nothing where there is none
 *	${NAME:-WORD}	WORD if it is not set or empty; ${NAME-WORD}: if it is not set
 *	${NAME:+WORD}	WORD if it is set and not empty; ${NAME+WORD}: if it is set
 *	${NAME:?WORD}	an error that says WORD if it is not set or empty; ${NAME?WORD}
 *
 * WORD is a word itself.  '...' is as it stands; in "..." the escape stands only before
 * '"', '$' and itself for what follows it; outside of quotes before everything.
 *
 * Text that is expanded may grow: each result is at most EXPAND_MAX. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

#define EXPAND_MAX   (128u << 10)
#define EXPAND_DEPTH 32 /* of ${} in ${} */

/* What variables mean; NULL: it is not set. */
struct expand {
	char escape; /* '\\' or '`' */
	const char *(*get)(const void *who, const char *name, size_t len);
	const void *who;
};

/* Allocated, without quotes. */
int expand_word(const struct expand *x, const char *word, char **ret, struct err *e);

/* The same, for text whose quotes mean nothing: what is in a heredoc. */
int expand_text(const struct expand *x, const char *text, char **ret, struct err *e);

/* Cuts at blanks that are not quoted, and leaves quotes and escapes as they are.  What
 * has no closing quote goes to the end. */
void expand_split(char escape, const char *text, struct list *ret);
