/* args -- the flags of a command line, as a table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;

enum args_kind {
	ARGS_SWITCH,  /* bool: --name, --name=true, --name=false */
	ARGS_TEXT,    /* const char *: --name VALUE, --name=VALUE, -n VALUE */
	ARGS_LIST,    /* struct list: as ARGS_TEXT, any number of times */
	ARGS_IGNORED, /* takes a value that has no effect here */
};

struct args_flag {
	const char *name;
	char letter; /* 0: none */
	enum args_kind kind;
	void *to;
	const char *value, *about; /* for --help; value NULL: the flag is a switch */
};

struct args {
	const char *usage; /* such as "kill [OPTIONS] ID [SIGNAL]" */
	const struct args_flag *flags;
	size_t count;
	bool stops; /* the first word that is no flag ends the flags */
};

/* Reads flags into their variables (letters may share a word, as in "-fr"), and leaves the
 * other words at the front of `argv`, ended by NULL.  "--" ends the flags, too.  --help and
 * -h, unless the table has them, print the usage; then the function returns -1 and leaves *e
 * without an error, and so does its caller. */
int args_read(const struct args *a, char **argv, struct err *e);
/* Checks the number of words. */
int args_count(const struct args *a, char *const *words, size_t min, size_t max,
	       struct err *e);
/* Prints a line for each flag. */
void args_print(const struct args *a, FILE *to);
