/* bash_split -- finds the commands that stand on lines of their own in a text for the
 * shell.
 *
 * An agent's `run` is one command; OpenHands refuses several, and so does hutch.
 * OpenHands counts commands with bashlex 0.18, a parser that knows only part of bash's
 * language, and accepts every text that bashlex cannot read.  This module counts the
 * commands in the syntax tree (policy/bash/tree.h), and accepts a text with a construct
 * that bashlex cannot read (docs/actions.md, "Several commands"), or that hutch cannot
 * read either: bash will say what is wrong with it.
 *
 * The module does no I/O.  Time and memory are proportional to the length of the
 * text. */
#pragma once
#include <stddef.h>

struct buffer;

/* Commands beyond this number are counted and not listed. */
#define BASH_SPLIT_MAX 1000
/* The list of commands is longer than the text by no more bytes than this. */
#define BASH_SPLIT_LIST_EXTRA (16 * BASH_SPLIT_MAX)

struct bash_split {
	const char *text; /* borrowed; the text that is split */
	size_t len;
	size_t *starts;	   /* owned; where each of the first BASH_SPLIT_MAX commands
			    * starts */
	size_t count;	   /* number of all commands; 0: the text cannot be read */
	size_t last_start; /* where the first command that is not in `starts` starts;
			    * `len`: all are in it */
};

/* Splits the text, which must not hold a 0 byte. */
void bash_split_init(struct bash_split *ret, const char *text, size_t len);
void bash_split_done(struct bash_split *s);

/* Writes the list of commands as OpenHands shows it: a line "(N) COMMAND" for each
 * command; comments before the first command count as a command. */
void bash_split_list(const struct bash_split *s, struct buffer *out);
