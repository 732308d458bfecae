/* outcome -- the result of copying files, as reported by a process that copied them.
 *
 * A copy has two processes (base/worker.h): each blocks in reading or writing at its own
 * end of a pipe, and when one gives up, the other sees that pipe closed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct worker;

struct outcome {
	struct err error;    /* kind ERR_NONE: success */
	bool is_inside;	     /* the process in the sandbox failed, and has sent the reason
			      * as a message (copy_request.h) */
	bool is_closed;	     /* the other end of the pipe was closed, so the other
			      * process's error is the one to report */
	uint64_t entries, bytes, left_out, links_out;
	char first[160]; /* the first file that was left out, with the reason; or the
			  * first link to a target outside of the tree */
};

/* Waits for a worker whose result is a struct outcome.  If the worker ended without a
 * result, *ret has only an error.  The result may come from a jailed process, so its
 * strings are made safe; its numbers may have any values. */
void outcome_wait(struct worker *w, struct outcome *ret);
