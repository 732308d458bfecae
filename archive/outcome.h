/* outcome -- how the copy of some files went, as the process that copied them tells it.
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
	bool is_inside;	     /* the error is the inside's, which has sent the reason as
			      * a message (copy_request.h) */
	bool is_closed;	     /* the pipe's reader had gone: the other process's error
			      * counts */
	uint64_t entries, bytes, left_out, links_out;
	char first[160]; /* the first file left out, and why; or the first link out */
};

/* Waits for a worker whose result is a struct outcome.  If it has none, *ret has only an
 * error.  The worker may have it from a jail, so its strings are made safe; the numbers
 * may be any. */
void outcome_wait(struct worker *w, struct outcome *ret);
