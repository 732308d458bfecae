/* ask -- a question on the terminal.
 *
 * The question goes to stderr, since stdout may be a file, and the answer comes from
 * stdin.  The caller makes foreign text in a question safe for the terminal
 * (base/term_escape.h). */
#pragma once
#include <stdbool.h>
#include <stdio.h>

/* Returns whether a question can be asked: stdin and stderr are terminals. */
bool ask_is_possible(void);

/* Asks, and returns whether the answer, a line from `from`, is y or yes. */
bool ask_yes(FILE *from, const char *question);

/* Asks for a letter, and returns it, in lower case; '?' for any other answer; -1 at the
 * end of input. */
int ask_letter(FILE *from, const char *question);
