/* stream -- lines in, observations out, and a sandbox in between.
 *
 * One process, one poll(2), no thread.  What waits for what: no line is read while
 * the desk is full or while what was observed is not taken away; nothing is read
 * from the executor in the latter case either.  So a client that does not read
 * stops the commands that print, and nobody's memory grows. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct launch;

struct stream {
	struct launch *launch; /* started */
	int in, out;	       /* borrowed */
	bool streams;	       /* --stream: events of output too */
	bool confirms;	       /* --confirm: it can be asked */
};

struct stream_end {
	int exit_code; /* of hutch act */
	struct err error; /* kind ERR_NONE: none */
};

/* Serves until the input has ended and every action is done, or the sandbox has. */
void stream_serve(const struct stream *s, struct stream_end *ret);
