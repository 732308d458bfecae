/* option_table -- the flags of the verbs that start commands: name, argument,
 * and effect on the policy.  For options.c, which reads the words. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct run_options;

struct option {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none; "[X]": optional, after '=' only */
	/* The value is NULL where there is none.  The function checks the value
	 * alone. */
	int (*take)(struct run_options *, const char *, struct err *);
	const char *help;
};

extern const struct option option_table[];
extern const size_t option_count;

/* Options are applied in two rounds.  In the first: options that others
 * override, and options that say where errors go. */
bool option_is_early(const struct option *o);
