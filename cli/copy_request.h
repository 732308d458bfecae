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
	const char *sandbox; /* borrowed, like the two below */
	const char *path;
	const char *name; /* for copy.in; may be NULL */
	bool packs;	  /* copy.out, else copy.in */
	bool follows;
	int tar;    /* the pipe's end for the inside; closed once it is sent */
	int sentences; /* the writing end for the inside's messages */
};

/* Whether the sandbox is paused.  A process of its own asks, for the same reason. */
bool copy_request_sees_pause(const char *sandbox);

/* The work of a worker; `arg` is a struct copy_request, the result a struct outcome, which
 * has the error, too. */
int copy_request_do(void *arg, void *outcome, struct err *e);
