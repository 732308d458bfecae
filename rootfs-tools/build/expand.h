/* expand -- words as a Dockerfile has them: quotes, escapes and variables
 * (docs.docker.com, Dockerfile reference, "Environment replacement"; BuildKit's shell
 * lexer decides where that is silent).
 *
 *	$NAME ${NAME}	its value; nothing if it is not set
 *	${NAME:-WORD}	WORD if it is not set or empty; ${NAME-WORD}: if it is not set
 *	${NAME:+WORD}	WORD if it is set and not empty; ${NAME+WORD}: if it is set
 *	${NAME:?WORD}	an error that says WORD if it is not set or empty; ${NAME?WORD}
 *
 * WORD is a word itself.  '...' is literal.  In "..." the escape quotes only '"', '$' and
 * itself; outside of quotes it quotes any character.
 *
 * Expanded text may grow: each result is at most EXPAND_MAX. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

#define EXPAND_MAX   (128u << 10)
#define EXPAND_DEPTH 32 /* limit of ${} nested in ${} */

/* Looks up variables; `get` returns NULL for one that is not set. */
struct expand {
	char escape; /* '\\' or '`' */
	const char *(*get)(const void *context, const char *name, size_t len);
	const void *context;
};

/* Expands a word of a Dockerfile.  The result is allocated, and has no quotes. */
int expand_word(const struct expand *x, const char *word, char **ret, struct err *e);

/* Expands a text in which quotes have no meaning, such as a heredoc's. */
int expand_text(const struct expand *x, const char *text, char **ret, struct err *e);

/* Splits a text at blanks outside of quotes, and keeps quotes and escapes.  A quote
 * without its end goes on to the end of the text. */
void expand_split(char escape, const char *text, struct list *ret);
