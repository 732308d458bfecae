/* doctor -- `hutch doctor`: what this host has of what hutch is made of. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct check;

/* What it found, and whether a plain `hutch run` works. */
struct diagnosis {
	const struct check *checks;
	size_t count;
	bool works;
	bool steps_down; /* --isolation landlock works */
};

/* `argv` starts behind the verb.  Returns the exit code of hutch. */
int doctor_main(char **argv);

/* The two forms of it: lines for people, with colours or without, and one object
 * on one line. */
void doctor_print(const struct diagnosis *d, bool is_colored, FILE *to);
void doctor_print_json(const struct diagnosis *d, FILE *to);
