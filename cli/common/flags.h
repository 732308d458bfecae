/* flags -- reads the words after a small verb.
 *
 * As in docker, flags may stand before and after operands: `rm box -f`.  "--"
 * ends the flags. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

struct flag {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help; /* NULL: the flag is known only to be refused */
	bool *is_set;	    /* borrowed; for a flag without argument */
	void *value; /* borrowed; of one with: a const char *, or, where `argument` ends with
			"...", a struct list of all of them */
};

struct usage {
	const char *synopsis, *about;
	const struct flag *flags;
	size_t count;
	size_t operands_min, operands_max; /* number of operands */
};

enum flags_result { FLAGS_FAILED = -1, FLAGS_HELP, FLAGS_READ };

/* Sets the variables that the flags point to.  FLAGS_HELP: help was asked for
 * and printed.  The operands are moved to the front of `argv`, with a NULL
 * after them. */
enum flags_result flags_read(char **argv, const struct usage *usage, struct err *e);

/* The same; on failure the error is printed. */
enum flags_result flags_begin(char **argv, const struct usage *usage);
