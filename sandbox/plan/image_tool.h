/* image_tool -- runs hutch-image in a launch: with descriptors that the
 * launcher has opened, and no longer than the launcher lives.
 *
 * SIGCHLD must not be ignored.  A signal that ends a program, if it is blocked
 * (supervise_signals()), ends hutch-image, which is an error.  The processes
 * that hutch-image started end with it, but a moment later: it holds a pipe's
 * end, the leash, as do those processes that change files for it, and the
 * launcher goes on when no process holds the leash any more. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;

#define IMAGE_TOOL_LEASH 3 /* the number that the leash has in hutch-image */

struct image_tool {
	struct list words; /* owned: hutch-image's verb and the arguments of that verb */
	int in, out; /* borrowed: hutch-image's standard input and output; -1:
		      * /dev/null */
	int errors;  /* borrowed: hutch-image's standard error */
	bool was_root; /* the environment is root's, so variables are removed from it */
	const char *doing; /* for messages: "while ..." */
};

/* Runs hutch-image and waits for its end.  Returns 0 if hutch-image has ended
 * with exit code 0.  ERR_GONE: hutch-image has ended with another code, which
 * the caller has to interpret. */
int image_tool_run(struct image_tool *t, struct err *e);

/* Like image_tool_run(), for a verb that writes a failure to its standard output as
 * one struct err; `out` is not used. */
int image_tool_hear(struct image_tool *t, struct err *e);
