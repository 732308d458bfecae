/* beside -- work that need not wait for the rest of a launch.
 *
 * A helper process does it at the same time, on another core.  It shares the
 * table of descriptors of its maker, so what it opens is there for both, and
 * nothing else: its memory is a copy. */
#pragma once
#include <sys/types.h>

struct err;

struct beside {
	pid_t helper;	/* 0: none */
	int answer[2];	/* owned: a pipe for one struct err, where the work failed */
};

void beside_init(struct beside *b);

/* Starts `work` in a helper. */
int beside_begin(struct beside *b, int (*work)(const void *arg, struct err *e),
		 const void *arg, struct err *e);

/* Waits for its end.  What failed in the helper has failed here. */
int beside_end(struct beside *b, struct err *e);
