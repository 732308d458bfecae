/* command_option -- reads the options of a command as getopt_long(3) does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct words;

/* The options that a program knows.  In `letters`, ":" behind a letter means a value, and
 * "::" one in the same word.  In `names`, between blanks, "=" and "?" behind a name mean
 * the same; a letter behind that, or behind "/", is the option's short form. */
struct option_table {
	const char *letters, *names;
};

struct command_option {
	char letter;	   /* the option; 0: it has no short form */
	const char *value; /* borrowed; NULL: it has none */
	size_t at;	   /* index of the word that `value` is in */
	bool is_unknown;   /* the table does not have the option */
};

/* Reads the option in word *i, and moves *i behind it and its value.  A cluster of
 * letters counts as its last one.  False: the word is no option; *i is behind it if it
 * is "--". */
bool command_option_next(const struct option_table *t, const struct words *w, size_t *i,
			 struct command_option *ret);
