/* bash_split -- finds the commands that stand on lines of their own in a shell script.
 *
 * An agent's `run` is one command; OpenHands refuses several, and so does hutch.
 * OpenHands counts commands with bashlex 0.18, a parser that knows only part of bash's
 * language, and accepts every text that bashlex cannot read. This module counts the
 * commands in the syntax tree (policy/bash/tree.h), and accepts a text with a construct
 * that bashlex cannot read (docs/actions.md, "Several commands"). It also accepts a
 * text that hutch cannot read: bash will say what is wrong with it.
 *
 * The module does no I/O. Time and memory are proportional to the length of the text. */
#pragma once
#include <stddef.h>

struct buffer;

/* At most this many commands are listed; further ones are only counted. */
#define BASH_SPLIT_MAX 1000
/* The most bytes by which the list of commands is longer than the text. */
#define BASH_SPLIT_LIST_EXTRA (16 * BASH_SPLIT_MAX)

struct bash_split {
	const char *text; /* borrowed; the text that is split */
	size_t len;
	size_t *starts;	   /* owned; the offsets in `text` of the first BASH_SPLIT_MAX
			    * commands */
	size_t count;	   /* the number of all commands; 0: the text has one line, or
			    * cannot be read */
	size_t last_start; /* the offset of the first command that is not in `starts`;
			    * `len`: there is none */
};

/* Splits the text, which must not hold a 0 byte. */
void bash_split_init(struct bash_split *ret, const char *text, size_t len);
void bash_split_done(struct bash_split *s);

/* Writes the list of commands as OpenHands shows it: a line "(N) COMMAND" for each
 * command; comments before the first command count as a command. */
void bash_split_list(const struct bash_split *s, struct buffer *out);
