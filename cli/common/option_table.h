/* option_table -- the flags of the verbs that start commands: their name, argument,
 * and effect on the policy.  options.c reads the words and finds their flag in this
 * table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct run_options;

struct option {
	char letter; /* the flag as one letter; 0: it has none */
	const char *name;
	const char *argument; /* the name of the flag's value; NULL: it takes none;
			       * "[X]": an optional value, after '=' only */
	/* Takes the flag into the options.  The value is NULL where there is none.
	 * The function checks the value alone; policy_check() later checks all flags
	 * together. */
	int (*take)(struct run_options *, const char *, struct err *);
	const char *help;
};

extern const struct option option_table[];
extern const size_t option_count;

/* Returns whether the flag is applied in the first of two rounds: flags that others
 * override, and flags that say where errors go, are. */
bool option_is_early(const struct option *o);
