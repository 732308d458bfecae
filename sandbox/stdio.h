/* stdio -- what a command gets as its descriptors 0, 1 and 2.
 *
 * Pipes of ours, with pumps to and from the caller's own descriptors; or
 * /dev/null, without -i for stdin; or, with --stdio inherit alone, the caller's
 * own.  Opened before root is dropped, since a terminal is opened again by its
 * path to get a description that may be non-blocking without making the
 * caller's so. */
#pragma once
#include <stdbool.h>

#include "sandbox/pump.h"

struct err;
struct policy;

enum { STDIO_COUNT = 3 };

struct stdio {
	int inside[STDIO_COUNT]; /* owned: for the command */
	struct pump pumps[STDIO_COUNT]; /* 0: in; 1 and 2: out.  Some never open */
	int silence; /* owned: a pipe's end that is kept open and never written */
	bool has_terminal;		/* the caller's stdin is one, and -t -i */
};

void stdio_init(struct stdio *s);
void stdio_done(struct stdio *s);

int stdio_open(struct stdio *s, const struct policy *policy, struct err *e);

/* The command has them now: closes `inside`, so that the ends of our pipes
 * close with the command's. */
void stdio_handed_over(struct stdio *s);

/* When the pumps have ended: -1 if stdout could not take what the command has written.  A
 * reader that went away, and stderr, which nothing could be told on, are no failures. */
int stdio_check(const struct stdio *s, struct err *e);
