/* errands -- MSG_ERRAND: what is looked for or changed in folders, each by a process
 * of its own (errand.h, workers.h), so that no tree, however large, and no file system
 * that does not answer keeps anybody else waiting.
 *
 * An errand is told about once: when its process has ended, was cancelled, or had its
 * time and did not come back.  What is to be said goes to the workers' `replies`. */
#pragma once
#include <stdint.h>

struct errand_order;
struct workers;

/* More than these get OUTCOME_ERROR, EAGAIN. */
#define ERRANDS_MAX 16

/* `o->request->place` says whose it is, whatever the session is; `run` is what the
 * process does: errand_run().  `now` as in workers.h. */
void errands_start(struct workers *s, const struct errand_order *o,
		   void (*run)(const void *order), int64_t now);
