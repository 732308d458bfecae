/* command_option -- reads the options of a command as getopt_long(3) does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct words;

/* The options that a program knows.  `letters` has the form of getopt(3): ":" after a
 * letter means that the option takes a value, "::" that the value must be in the same
 * word.  `names` lists long options, separated by blanks; after a name, "=" and "?"
 * mean the same as ":" and "::".  A letter after that mark, or after "/", is the short
 * form of the option. */
struct option_table {
	const char *letters, *names;
};

struct command_option {
	char letter;	   /* the option's letter; 0: only a long name */
	const char *value; /* borrowed; NULL: the option has no value */
	size_t at;	   /* index of the word that contains `value` */
	bool is_unknown;   /* the option is not in the table */
};

/* Reads the option in word *i, and moves *i past the option and its value.  If several
 * letters share one word ("-xvf"), only the last one is returned.  Returns false if the
 * word is no option; *i is then past the word only if it is "--". */
bool command_option_next(const struct option_table *t, const struct words *w, size_t *i,
			 struct command_option *ret);
