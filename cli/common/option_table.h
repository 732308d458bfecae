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
	/* Stores the flag's value in the options.  The value is NULL for a flag
	 * without a value.  The function checks the value alone; policy_check() later
	 * checks all flags together. */
	int (*take)(struct run_options *, const char *, struct err *);
	const char *help;
};

extern const struct option option_table[];
extern const size_t option_count;

/* Flags are applied in two rounds.  Returns true for the first round: for flags that
 * others override, and for flags that say where errors are reported. */
bool option_is_early(const struct option *o);
