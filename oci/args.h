/* args -- the flags of a command line, as a table. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

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
};

/* Reads flags into their variables, and leaves the other words at the front of `argv`,
 * ended by NULL.  With `stops`, the first word that is no flag ends the flags.  "--" ends
 * them, too. */
int args_read(const struct args_flag *flags, size_t count, char **argv, bool stops,
	      struct err *e);
/* Checks the number of words. */
int args_count(char *const *words, size_t min, size_t max, const char *usage,
	       struct err *e);
