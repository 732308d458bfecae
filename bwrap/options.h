/* options -- bwrap's options, a row each. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "bwrap/args.h"

struct option;

/* The state of one parse.  The modifiers hold for the next option that takes them. */
struct reader {
	struct args *args;	     /* borrowed */
	const struct option *option; /* the one being taken */
	char **words;		     /* its operands */
	bool is_in_data;	     /* the words come from --args */
	size_t total;		     /* the words that were given so far */
	int perms;		     /* of --perms; -1: none */
	size_t size;		     /* of --size; 0: none */
	size_t sources;		     /* how many --overlay-src are pending */
};

struct option {
	const char *name, *operands, *help;
	unsigned count; /* of operands */
	/* Does what the option asks for (option_takes.h). */
	int (*take)(struct reader *r, struct err *e);
	size_t field;	   /* the offset in struct args of what take() sets */
	enum op_kind kind; /* of the operation that take() adds */
	bool is_readonly, has_devices, may_be_absent;
	bool takes_perms, takes_size;
	int perms;	    /* the mode without --perms */
	size_t sources_min; /* the least number of --overlay-src before the option */
};

/* Returns the option of that name; NULL: there is none. */
const struct option *options_find(const char *name);

/* Fills in the error about a word that is no option, and suggests one that is near. */
int options_unknown(const char *word, struct err *e);

/* Parses words up to the first that is no option, which *words then points at. */
int options_parse(struct reader *r, char ***words, struct err *e);

/* Prints a line for each option. */
void options_print(FILE *to);
