/* parts -- a verb that has verbs of its own, as `hutch policy show`. */
#pragma once
#include <stddef.h>

struct part {
	const char *name, *help;
	int (*main)(char **argv); /* argv starts behind the name; returns the exit code */
};

struct parts {
	const char *verb, *about; /* `about`: what they are for, as the help has it */
	const struct part *list;
	size_t count;
};

/* Does the one that argv[0] names, or prints the help that it asks for, or says which
 * there are.  Returns the exit code. */
int parts_main(char **argv, const struct parts *p);
