/* option_table -- the flags of the verbs that start commands: what each is called, what it
 * takes, and what it does to the policy.  For options.c, which reads the words. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct run_options;

struct option {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none; "[X]": optional, after '=' only */
	/* The value is NULL where there is none.  What can be judged of it alone is. */
	int (*take)(struct run_options *, const char *, struct err *);
	const char *help;
};

extern const struct option option_table[];
extern const size_t option_count;

/* Of two rounds in the first: what others win over, and where errors go. */
bool option_is_early(const struct option *o);
