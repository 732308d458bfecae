/* image_tool -- hutch-image, as a launch runs it: with descriptors that the launcher has
 * opened, and with an end when the launcher's comes.
 *
 * SIGCHLD must not be ignored.  A signal that ends a program, if it is blocked
 * (supervise_signals()), ends this one, which is an error.  What it started ends with it,
 * but a moment later: it holds a pipe's end, the leash, that those which change files for it
 * hold too, and the launcher goes on when nobody does. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;

#define IMAGE_TOOL_LEASH 3 /* the descriptor, as it has it */

struct image_tool {
	struct list words; /* owned: its verb, and what comes behind that */
	int in, out; /* borrowed; its standard input and output; -1: /dev/null */
	int errors;  /* borrowed; where it speaks */
	bool was_root; /* the environment is root's */
	const char *doing; /* "while ..." */
};

/* 0: it has ended with exit code 0.  ERR_GONE: with another one, and whoever runs it knows
 * more. */
int image_tool_run(struct image_tool *t, struct err *e);

/* The same for a verb that says on its standard output what has failed, as one struct err;
 * `out` is not used. */
int image_tool_hear(struct image_tool *t, struct err *e);
