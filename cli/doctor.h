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

struct doctor_terminal {
	size_t columns;
	bool has_colors;
};

/* The two output forms: lines for people, and one JSON object on one line.  Sentences
 * are broken at the terminal's width; remedies are not, since they are copied.  NULL:
 * the lines go to no terminal. */
void doctor_print(const struct diagnosis *d, const struct doctor_terminal *t, FILE *to);
void doctor_print_json(const struct diagnosis *d, FILE *to);
