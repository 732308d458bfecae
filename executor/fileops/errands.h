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

/* The most errands that run at once; a further one is answered with OUTCOME_ERROR,
 * EAGAIN. */
#define ERRANDS_MAX 16

/* Starts an errand as the user in `o->request->place`. `run` is the function that the
 * process runs: errand_run(). `now` is the current time, in ms of all_processes_now(). */
void errands_start(struct workers *s, const struct errand_order *o,
		   void (*run)(const void *order), int64_t now);
