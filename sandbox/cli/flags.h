/* flags -- the words behind a small verb.
 *
 * As docker has it, flags may stand before and behind operands: `rm box -f`.  "--"
 * ends them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

struct flag {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help; /* NULL: it is there to be refused, and not told of */
	bool *is_set;	    /* borrowed; of one without argument */
	void *value; /* borrowed; of one with: a const char *, or, where `argument` ends with
			"...", a struct list of all of them */
};

struct usage {
	const char *synopsis, *about;
	const struct flag *flags;
	size_t count;
	size_t operands_min, operands_max; /* names */
};

enum flags_result { FLAGS_FAILED = -1, FLAGS_HELP, FLAGS_READ };

/* Sets what the flags point at.  FLAGS_HELP: it was asked for and printed.  The operands
 * are moved to the front of `argv`, with a NULL behind them. */
enum flags_result flags_read(char **argv, const struct usage *usage, struct err *e);

/* The same; on failure the error is printed. */
enum flags_result flags_begin(char **argv, const struct usage *usage);
