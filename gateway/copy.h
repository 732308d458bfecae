/* copy -- a tar into a sandbox, or out of it, through a pipe (copy.in and copy.out of
 * docs/control.md).
 *
 *	c->pipe		copy.in: written to when `moved` is called; copy.out: read then
 *	copy_close()	closes it: the tar's end, or that it is not wanted any more
 *	ended		the process has ended; the pipe of a copy.out may still have bytes
 */
#pragma once
#include <stdbool.h>

#include "gateway/loop.h"

struct box;
struct hutch_error;

#define COPY_WORDS 1024 /* bytes of sentences about files that could not be copied */

struct copy {
	struct box *box;
	struct watch pipe; /* its descriptor: owned; -1: closed */
	int words;	   /* owned: the pipe of the sentences */
	bool is_running;   /* `ended` will be called */
	void *context;
	void (*moved)(void *context);
	/* `error`: of the process (`not_found`, ...), or NULL; `words`: a sentence, or "".
	 * `why`: the sandbox ended or refused, and the others are NULL. */
	void (*ended)(void *context, const char *error, const char *words,
		      const struct hutch_error *why);
};

/* Starts it; `context`, `moved` and `ended` are set, and `params` is JSON.  -1: it was not
 * started. */
int copy_start(struct copy *c, struct box *b, bool is_in, const char *params,
	       struct hutch_error *e);

/* Stops and goes on calling `moved`. */
void copy_hold(struct copy *c, bool is_held);
void copy_close(struct copy *c);
