/* errands -- MSG_ERRAND: searches and changes in folders, each by a process of its own
 * (errand.h, workers.h), so that no large tree, and no file system that does not
 * answer, makes other requests wait.
 *
 * An errand is reported once: when its process has ended, was cancelled, or did not end
 * when its time was over.  Reports go to the workers' `replies`. */
#pragma once
#include <stdint.h>

struct errand_order;
struct workers;

/* As many errands run at once; one more is answered with OUTCOME_ERROR, EAGAIN. */
#define ERRANDS_MAX 16

/* Starts an errand. `o->request->place` says which user the errand runs as, whatever the
 * session's user is; `run` is the process's function: errand_run(). `now` is the current
 * time, as in workers.h. */
void errands_start(struct workers *s, const struct errand_order *o,
		   void (*run)(const void *order), int64_t now);
