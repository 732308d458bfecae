/* image_tool -- runs hutch-image in a launch: with descriptors that the launcher has
 * opened, and no longer than the launcher lives.
 *
 * SIGCHLD must not be ignored.  If SIGINT, SIGTERM, SIGHUP or SIGQUIT is blocked
 * (supervise_signals()) and comes meanwhile, hutch-image is ended, which is an error.
 * The processes that hutch-image has started end a moment after it.  To know when, the
 * launcher passes hutch-image one end of a pipe, the leash: hutch-image and those of its
 * processes that change files hold that end open, and the launcher goes on when no
 * process holds it any more. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;

#define IMAGE_TOOL_LEASH 3 /* the descriptor number of the leash in hutch-image */

struct image_tool {
	struct list words; /* owned: hutch-image's verb and the arguments of that verb */
	int in, out; /* borrowed: hutch-image's standard input and output; -1:
		      * /dev/null */
	int errors;  /* borrowed: hutch-image's standard error */
	bool was_root; /* root started hutch: variables of root's are removed from
			* hutch-image's environment */
	const char *doing; /* for messages: "while ..." */
};

/* Runs hutch-image and waits for its end.  Returns 0 if hutch-image has ended
 * with exit code 0.  ERR_GONE: hutch-image has ended with another code, which
 * the caller has to interpret. */
int image_tool_run(struct image_tool *t, struct err *e);

/* Like image_tool_run(), for a verb that reports a failure by writing one struct err to
 * its standard output; `out` is not used. */
int image_tool_hear(struct image_tool *t, struct err *e);
