/* split -- how many commands stand on lines of their own in a text for the shell.
 *
 * An agent's `run` is one command; OpenHands refuses several, so hutch does.  What is
 * one command its users know from OpenHands, which asks bashlex 0.18: a parser of
 * bash's language that does not know all of it, and where it fails, anything goes.
 * This is a reader of the same language with the same holes (docs/actions.md, "Several
 * commands"); tests/unit/split_cases.txt holds what was compared.
 *
 * A text is refused when it has two commands or more.  What cannot be read at all is
 * one command: bash will say what is wrong with it.
 *
 * No I/O; the time goes by the length of the text (SPLIT_WORK), and so does the memory
 * (SPLIT_ARENA).  Recursion is SPLIT_DEPTH deep at most. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Commands beyond these are counted and not listed. */
#define SPLIT_MAX 1000
/* The list is longer than the text by no more than this. */
#define SPLIT_LIST_EXTRA (16 * SPLIT_MAX)

/* What of the text belongs to a command: from `start` to the next one's, with the
 * blanks and comments between them, which begin at `end`. */
struct split_piece {
	size_t start, end;
};

struct split {
	const char *text; /* borrowed */
	size_t len;
	struct split_piece *pieces; /* owned; the first SPLIT_MAX */
	size_t count;	   /* of all commands; 0: the text is none that can be read */
	size_t last_start; /* of what comes behind the pieces; else `len` */
};

/* The text holds no 0 byte. */
void split_init(struct split *ret, const char *text, size_t len);
void split_done(struct split *s);

/* The list as OpenHands shows it: a line "(N) COMMAND" for each, comments in front of
 * the first as one of their own. */
void split_list(const struct split *s, struct buffer *out);
