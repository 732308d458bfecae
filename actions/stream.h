/* stream -- the event loop of hutch act: reads action lines, writes observations, and
 * serves the sandbox between them.
 *
 * One process, one poll(2), no thread. No line is read while the dispatcher is full or
 * the client leaves observations unread; in the latter case nothing is read from the
 * executor either. So a client that does not read makes the commands wait that print,
 * and no process needs more and more memory. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct launch;

struct stream {
	struct launch *launch; /* borrowed; the sandbox, which is already started */
	int in, out;	       /* borrowed; actions are read from `in`, and observations
			        * written to `out` */
	bool streams;	       /* --stream: the client also gets output while a command
			        * runs */
	bool confirms;	       /* --confirm: the client can be asked whether an action
			        * may be done */
};

struct stream_end {
	int exit_code; /* the exit code of hutch act */
	struct err error; /* the error that ended the stream; kind ERR_NONE: none */
};

/* Serves until the input has ended and every action is done, or until the
 * sandbox ends. */
void stream_serve(const struct stream *s, struct stream_end *ret);
