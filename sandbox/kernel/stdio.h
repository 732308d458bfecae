/* stdio -- the descriptors 0, 1 and 2 of a command.
 *
 * A command gets pipes of hutch's, with pumps to and from the caller's own descriptors;
 * or /dev/null, as stdin without -i; or, only with --stdio inherit, the caller's own
 * descriptors.  stdio_open() is called before root is dropped, since it opens the
 * caller's terminal a second time with the caller's rights: the new open file
 * description may be made non-blocking without making the caller's so. */
#pragma once
#include <stdbool.h>

#include "sandbox/kernel/pump.h"

struct err;
struct policy;

enum { STDIO_COUNT = 3 };

struct stdio {
	int inside[STDIO_COUNT]; /* owned: the command's descriptors */
	struct pump pumps[STDIO_COUNT]; /* [0] carries input, [1] and [2] output; a
					 * pump that is not needed stays closed */
	int silence; /* owned: the write end of the command's stdin, kept open and
		      * never written to */
	bool has_terminal;		/* with -t -i: the caller's stdin is a terminal */
};

void stdio_init(struct stdio *s);
void stdio_done(struct stdio *s);

int stdio_open(struct stdio *s, const struct policy *policy, struct err *e);

/* Closes hutch's copies of the command's descriptors, once the command has them, so that
 * hutch's pipes end when the command closes its ends. */
void stdio_handed_over(struct stdio *s);

/* To be called when the pumps have ended.  Returns -1, with *e set, if stdout did not
 * take everything that the command has written.  A reader that has closed its end is no
 * failure, nor is a failure of stderr, where no message could be shown. */
int stdio_check(const struct stdio *s, struct err *e);
