/* subcommands -- runs a verb that has verbs of its own, such as `hutch policy show`. */
#pragma once
#include <stddef.h>

struct part {
	const char *name, *help;
	int (*main)(char **argv); /* the subcommand's function: argv begins after its
				   * name; returns the exit code */
};

struct subcommands {
	const char *verb, *about; /* `about`: a sentence for the help */
	const char *operand;	  /* an operand that stands before the verb; NULL: none */
	const char *behind; /* an operand that stands behind each verb; NULL: none */
	const struct part *list;
	size_t count;
};

/* Runs the subcommand that argv[0] names, or prints help; for any other word, lists
 * the subcommands as an error.  Returns the exit code. */
int subcommands_main(char **argv, const struct subcommands *p);

/* Returns the word that hutch has for another tool's, such as "ls" for "list", or
 * `name`. */
const char *subcommands_meant(const char *name);
