/* doctor -- `hutch doctor`: checks what this host offers of the kernel features
 * that hutch needs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct check;

/* The checks' results, and whether a plain `hutch run` works. */
struct diagnosis {
	const struct check *checks;
	size_t count;
	bool works;
	bool steps_down; /* a launch with --isolation landlock works */
};

/* `argv` begins after the verb.  Returns hutch's exit code. */
int doctor_main(char **argv);

/* The two output forms: lines for people, with or without colours, and one JSON
 * object on one line. */
void doctor_print(const struct diagnosis *d, bool is_colored, FILE *to);
void doctor_print_json(const struct diagnosis *d, FILE *to);
