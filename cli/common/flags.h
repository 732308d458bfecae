/* flags -- reads the words after a small verb.
 *
 * As in docker, flags may stand before and after operands: `rm box -f`.  "--"
 * ends the flags. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

struct flag {
	char letter; /* the flag as one letter; 0: it has none */
	const char *name;
	const char *argument; /* the name of the flag's value in the help; NULL: the
			       * flag takes no value */
	const char *help;     /* NULL: the flag is known only to be refused */
	bool *is_set;	      /* borrowed: set to true by a flag without a value; NULL:
			       * FLAG_QUIET, which turns notes off (base/note.h) */
	void *value; /* borrowed: gets the value of a flag that takes one: a const char
		      * *, or, where `argument` ends with "...", a struct list of all
		      * values */
};

/* The row of -q, in the tables of verbs that write notes. */
#define FLAG_QUIET { 'q', "quiet", NULL, "no notes of hutch's on stderr", NULL, NULL }

struct usage {
	const char *synopsis; /* "hutch VERB [OPTIONS] NAME": errors take the verb and the
			       * names of missing operands from it */
	const char *about;
	const struct flag *flags;
	size_t count;
	size_t operands_min, operands_max; /* how many operands there must and may be */
	const char *hint; /* where names for an operand are found, or another verb that
			   * takes them; may be NULL */
};

enum flags_result { FLAGS_FAILED = -1, FLAGS_HELP, FLAGS_READ };

/* Sets the variables that the flags point to.  FLAGS_HELP: help was asked for
 * and printed.  The operands are moved to the front of `argv`, with a NULL
 * after them. */
enum flags_result flags_read(char **argv, const struct usage *usage, struct err *e);

/* Reads flags like flags_read(), and prints the error on failure. */
enum flags_result flags_begin(char **argv, const struct usage *usage);

/* Checks the word behind the flag `shown`, which takes it as its value.  An error: there
 * is none, or it is "--", which an unquoted empty variable leaves in the value's place.
 * `argument` describes the value. */
int flags_check_value(const char *shown, const char *argument, const char *word,
		      struct err *e);

/* Fills in the error about a letter, in a word such as "-aqx", that is no flag.  Returns
 * -1. */
int flags_unknown_letter(const char *word, const char *letter, struct err *e);
