/* bash_split -- counts the commands that stand on lines of their own in a text for
 * the shell.
 *
 * An agent's `run` is one command; OpenHands refuses several, and so does
 * hutch.  OpenHands counts commands with bashlex 0.18, a parser that knows only
 * part of bash's language, and accepts every text that bashlex cannot read.
 * split reads the same language with the same gaps (docs/actions.md, "Several
 * commands"); tests/unit/split_cases.txt holds the cases in which both were
 * compared.
 *
 * A text is refused when it has two commands or more.  A text that cannot be
 * read at all counts as one command: bash will say what is wrong with it.
 *
 * split does no I/O.  Its time (SPLIT_WORK) and its memory (SPLIT_ARENA) are
 * proportional to the length of the text.  Recursion is at most SPLIT_DEPTH
 * deep. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Commands beyond this number are counted and not listed. */
#define BASH_SPLIT_MAX 1000
/* The list of commands is longer than the text by no more bytes than this. */
#define BASH_SPLIT_LIST_EXTRA (16 * BASH_SPLIT_MAX)

/* One command's share of the text: from `start` to the next command's `start`.
 * Blanks and comments between the two begin at `end`. */
struct bash_split_piece {
	size_t start, end;
};

struct bash_split {
	const char *text; /* borrowed; the text that is split */
	size_t len;
	struct bash_split_piece *pieces; /* owned; the first BASH_SPLIT_MAX commands */
	size_t count;	   /* number of all commands; 0: the text cannot be read */
	size_t last_start; /* where the first command that has no piece starts; `len`:
			    * all have one */
};

/* Splits the text, which must not hold a 0 byte. */
void bash_split_init(struct bash_split *ret, const char *text, size_t len);
void bash_split_done(struct bash_split *s);

/* Writes the list of commands as OpenHands shows it: a line "(N) COMMAND" for each
 * command; comments before the first command count as a command. */
void bash_split_list(const struct bash_split *s, struct buffer *out);
