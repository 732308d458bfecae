/* copy_request -- asks a sandbox to pack or unpack (copy.out, copy.in of
 * docs/control.md) and waits until it is done.
 *
 * A copy request is a process of its own (base/worker.h): with root's sandboxes, which
 * belong to another user, it has to become that user, while the files to be
 * copied are root's. */
#pragma once
#include <stdbool.h>

struct err;

struct copy_request {
	const char *sandbox; /* borrowed, like the two texts below */
	const char *path;
	const char *name; /* for copy.in: the name that the copy gets inside; may be
			   * NULL */
	bool packs;	  /* true: the request is copy.out, the sandbox packs; false:
			   * it is copy.in */
	bool follows;
	int tar;    /* the pipe's end that is passed into the sandbox; closed once the
		     * request is sent */
	int sentences; /* the pipe's writing end for messages from inside the sandbox */
};

/* Returns whether the sandbox is paused.  A child process finds that out, since it
 * has to change to the user that root's sandboxes run for, and this process must stay
 * root. */
bool copy_request_sees_pause(const char *sandbox);

/* Sends the request and waits for its end; runs in a worker process (base/worker.h).
 * `arg` is a struct copy_request; the result is a struct outcome, which has the
 * error, too. */
int copy_request_do(void *arg, void *outcome, struct err *e);
